"""What works without extras, and what the rest says: needs nothing but the package and an empty folder.

``python core.py NAME ...`` hides the packages that are named, as if they were not installed.
"""

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from pathlib import Path

HIDDEN = set(sys.argv[1:])


class Hide(MetaPathFinder):
    """Finds no package that is hidden."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Refuse a hidden package; leave all others to those who come later."""
        if fullname.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


sys.meta_path.insert(0, Hide())

import bandstrap  # noqa: E402 - with the packages hidden
from bandstrap import bounds, cli, evidence, live  # noqa: E402
from bandstrap.basics.extras import EXTRAS, MissingPackage, is_installed  # noqa: E402
from bandstrap.environments import Gaussian  # noqa: E402

REVENUE = [3.1, 0.4, 2.2, 5.9, 1.8, 2.7, 4.4, 0.9, 3.6, 2.5, 1.1, 3.3]


def expect(holds: bool, sentence: str) -> None:
    """Stop with a sentence unless it holds."""
    if not holds:
        sys.exit(f"The package without extras fails: {sentence}")


def refused(call: Callable[[], object], extra: str) -> None:
    """Stop unless a call is refused by a sentence that says how to install the extra."""
    try:
        call()
    except MissingPackage as error:
        expect(f"pip install 'bandstrap[{extra}]'" in str(error), f"{error!r} names another extra than {extra}.")
    else:
        expect(False, f"{call} needs no package of the extra {extra}.")


def main() -> None:
    """Bounds, evidence, policies, a simulation and a live experiment; then what needs an extra."""
    missing = {name for name in EXTRAS if not is_installed(name)}
    core = {"polars", "pydantic", "typer", "rich", "matplotlib", "jinja2", "psycopg", "fastapi", "httpx"}
    expect(core <= missing, f"{', '.join(sorted(core - missing))} is installed.")

    expect(bounds.choose(REVENUE, 0.05).method in bounds.BOUNDS, "choose names no bound.")
    for bound in (
        bounds.hoeffding(REVENUE, 0.05, sigma=2),
        bounds.bootstrap(REVENUE, 0.05, sigma=2),
        bounds.sign_flip(REVENUE, 0.05),
        bounds.student_t(REVENUE, 0.05),
        bounds.bca(REVENUE, 0.05),
    ):
        expect(bound.value > 2.66, f"an upper bound is below the mean: {bound}")
    (found,) = evidence.contrasts([0, 1] * 500, [0, 1] * 500, [0.5, 0.5]).against(0)
    expect(found.lower > 0, "evidence sees no difference.")

    policy = bandstrap.EdgeworthUCB(arms=["red", "green"], randomized=True, rng=7)
    for reward in REVENUE:
        policy.update(policy.select(), reward)
    expect(sum(row.pulls for row in policy.table()) == len(REVENUE), "a policy counts other rewards.")
    policy.save("policy.json")
    expect(bandstrap.load("policy.json").select() == policy.select(), "a policy that was saved goes on in another way.")
    result = bandstrap.simulate([bandstrap.UCB1()], Gaussian([0.0, 1.0]), horizon=20, replications=2, seed=0)
    expect(bool((result.regret >= 0).all()), "a simulation has no regret.")

    with live.create("shop.db", "checkout", policy="ucb1", arms=["red", "green"], seed=7) as shop:
        for visitor, reward in enumerate(REVENUE):
            shop.reward(shop.decide(key=f"u{visitor}").id, reward)
        status = str(shop.status())
        expect("decisions 12" in status, f"live counts other decisions: {status}")
        expect(str(shop.replay()).startswith("identical"), "replay makes other decisions.")
        refused(lambda: shop.export("log.parquet"), "sim")
    refused(lambda: bandstrap.experiments, "sim")
    refused(lambda: bandstrap.league, "sim")
    refused(lambda: result.to_parquet("result.parquet"), "sim")
    refused(result.plot, "plots")
    Path("data.parquet").write_bytes(b"PAR1")
    expect(cli.start() == 2, "the command bandstrap does not end with exit code 2.")
    print("  bounds, policies, simulate and live work; the rest names its extra")


if __name__ == "__main__":
    main()
