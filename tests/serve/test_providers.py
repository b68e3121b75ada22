"""The official OpenFeature providers, where they are installed.

They are openfeature-provider-ofrep of PyPI, and @openfeature/ofrep-provider of npm.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bandstrap import live
from serve.serving import shop_serving

SCRIPT = """
const { OpenFeature } = require("@openfeature/server-sdk");
const { OFREPProvider } = require("@openfeature/ofrep-provider");
(async () => {
  const [baseUrl, token] = process.argv.slice(1);
  await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl, headers: [["Authorization", `Bearer ${token}`]] }));
  const client = OpenFeature.getClient();
  const found = [];
  for (const flag of ["checkout", "nothing"])
    found.push(await client.getStringDetails(flag, "default", { targetingKey: "u1" }));
  found.push(await client.getStringDetails("checkout", "default", {}));
  console.log(JSON.stringify(found));
  process.exit(0);
})();
"""


@pytest.fixture
def service(tmp_path):
    with shop_serving(tmp_path) as (client, token, target):
        yield str(client.base_url), token, target


def check(found, target):
    """One flag, one that is not there, and one without a targeting key."""
    with live.open(target, "checkout") as experiment:
        decision = experiment.decide("u1", key="u1")
        assert experiment.status().inactive == 0
        assert sum(experiment.status().decisions.values()) == 1
    known, unknown, nobody = found
    assert (known["value"], known["variant"], known["reason"]) == (decision.arm, decision.arm, "SPLIT")
    assert known["metadata"]["decision"] == decision.id
    assert known["metadata"]["propensity"] == decision.propensity
    assert (unknown["value"], unknown["errorCode"]) == ("default", "FLAG_NOT_FOUND")
    assert (nobody["value"], nobody["errorCode"]) == ("default", "TARGETING_KEY_MISSING")


def test_the_provider_of_python_is_served(service):
    from openfeature import api
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.evaluation_context import EvaluationContext

    address, token, target = service
    api.set_provider(OFREPProvider(address, headers_factory=lambda: {"Authorization": f"Bearer {token}"}))
    asked = [("checkout", "u1"), ("nothing", "u1"), ("checkout", None)]
    details = [api.get_client().get_string_details(flag, "default", EvaluationContext(unit)) for flag, unit in asked]
    check(
        [
            {
                "value": one.value,
                "variant": one.variant,
                "reason": one.reason,
                "errorCode": one.error_code,
                "metadata": one.flag_metadata,
            }
            for one in details
        ],
        target,
    )


def test_the_provider_of_node_is_served(service):
    node, modules = shutil.which("node"), os.environ.get("NODE_PATH", "")
    if node is None or not Path(modules, "@openfeature", "ofrep-provider").is_dir():
        pytest.skip("needs node, and @openfeature/ofrep-provider with @openfeature/server-sdk in NODE_PATH")
    address, token, target = service
    done = subprocess.run([node, "-e", SCRIPT, address, token], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = [one | {"metadata": one.get("flagMetadata")} for one in json.loads(done.stdout)]
    check(found, target)
