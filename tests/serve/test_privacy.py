"""Erasure and hashed units: nothing of a unit stays in the files, and replay still checks all that can be checked."""

import sqlite3
from pathlib import Path

import psycopg
import pytest

from bandstrap import live
from bandstrap.live.database import writing
from bandstrap.live.store import Store, is_server
from bandstrap.serve.app import make_app
from bandstrap.serve.forced import count_forced
from bandstrap.serve.hub import ServiceOptions, prepare
from bandstrap.serve.tokens import create_token
from command_line import runner
from serve.serving import serving

run = pytest.fixture(runner, name="run")
UNIT = "ann.unmistakable@example.org"
SETTINGS = [{}, {"holdout": 0.4, "control": "red"}, {"mode": "shadow", "control": "red"}]


def files_hold(target, text):
    """True if a text is in the files of SQLite, or in any row of PostgreSQL, which keeps old ones until VACUUM."""
    if not is_server(target):
        return any(text.encode() in path.read_bytes() for path in Path(target).parent.iterdir() if path.is_file())
    with psycopg.connect(target) as base:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        tables = [name for (name,) in base.execute(query)]
        assert "live_decision" in tables
        rows = [f'SELECT CAST(t AS TEXT) FROM "{name}" t' for name in tables]  # noqa: S608
        return any(text in row for query in rows for (row,) in base.execute(query))


@writing
def run_sql(base, statement, *parameters):
    return base._ask(statement, *parameters)


@pytest.mark.parametrize("settings", SETTINGS, ids=["live", "held", "shadow"])
def test_an_erased_unit_is_gone_and_the_rest_still_replays(run, either, settings):
    target = either
    with live.create(
        target, "checkout", policy="edgeworth_ucb:randomized=true", arms=["red", "green"], seed=7, refresh=0, **settings
    ) as experiment:
        keys = [*(f"{UNIT} {i}" for i in range(30)), UNIT, *(f"k{i}" for i in range(60))]
        units = [UNIT] * 30 + [None] + [f"u{i % 20}" for i in range(60)]
        made = experiment.decide_many(units, keys=keys)
        experiment.reward_many(
            [(one.id, i % 3 / 2, f"{UNIT} paid" if i < 31 else "paid") for i, one in enumerate(made)]
        )
        lift = experiment.status().lift
    assert files_hold(target, UNIT)
    done = run("live", "delete-unit", target, "checkout", UNIT)
    assert (done.returncode, done.stdout) == (0, "erased: 31 decisions\n")
    with live.open(target, "checkout") as experiment:
        assert [one.key for one in experiment.store.decisions(experiment.row.id, [made[0].id])] == [
            f"erased:{made[0].id}"
        ]
        assert experiment.status().lift == lift  # the unit counts once, as before
        again = experiment.decide(UNIT, key=keys[0])
        assert (again.id, again.arm) == (made[0].id, made[0].arm)
        found = experiment.replay()
        assert (found.is_identical, found.decisions) == (True, 91), found
    with Store.open(target) as store:  # rewards of other units keep their keys
        assert run_sql(store, "SELECT count(*) FROM live_reward WHERE key = 'paid'") == [(60,)]
    assert not files_hold(target, UNIT)
    assert live.delete_unit(target, "checkout", UNIT) == 0
    missing = run("live", "delete-unit", target, "nobody", UNIT)
    assert (missing.returncode, "'name'" in missing.stderr) == (2, True)


@pytest.mark.parametrize(
    "change", ["arm = 1 - arm", "propensity = propensity / 2", "source = 'holdout'", "version = 40"]
)
def test_what_is_changed_in_an_erased_decision_is_still_found(tmp_path, change):
    target = str(tmp_path / "shop.db")
    with live.create(
        target, "checkout", policy="edgeworth_ucb:randomized=true", arms=["red", "green"], seed=7, refresh=0
    ) as experiment:
        for part in range(3):  # with keys of its own: random ones would draw other arms in each run
            made = experiment.decide_many([UNIT] * 40, keys=[f"{part} {i}" for i in range(40)])
            values = {"red": 0.3, "green": 0.5}
            experiment.reward_many([(one.id, values[one.arm] + 0.1 * (i % 3)) for i, one in enumerate(made)])
            experiment.refresh()
        last = made[0]
        assert 0 < last.propensity < 1 != 2 * last.propensity
        assert live.delete_unit(target, "checkout", UNIT) == 120
        assert experiment.replay().is_identical
    with sqlite3.connect(target) as base:
        base.execute(f"UPDATE live_decision SET {change} WHERE id = ?", (last.id,))  # noqa: S608
    with live.open(target, "checkout") as experiment:
        assert not experiment.replay().is_identical


def test_with_a_key_only_hashes_of_units_and_keys_are_stored(either):
    target = either
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    with Store.open(target) as store:
        token = create_token(store, "admin")

    def talk(privacy_key):
        with serving(make_app(ServiceOptions(target, privacy_key=privacy_key))) as client:
            client.headers["Authorization"] = f"Bearer {token}"
            made = client.post("/experiments/checkout/decisions", json={"unit": UNIT, "key": UNIT}).json()
            assert (made["unit"], made["key"]) == (UNIT, UNIT)
            paid = client.post("/experiments/checkout/rewards", json={"unit": UNIT, "value": 1.0, "key": "f" + UNIT})
            body = {"context": {"targetingKey": UNIT}}
            flag = client.post("/ofrep/v1/evaluate/flags/checkout", json=body).json()
            assert flag["metadata"]["decision"] == made["id"]
            forced = {"key": "f" + UNIT, "unit": UNIT, "arm": "red", "forced": True}
            assert client.post("/experiments/checkout/imports", json=forced).status_code == 200
            return made["id"], paid.status_code, client.get("/experiments/checkout/weights").status_code

    first, again, other = map(talk, ("one secret of 32 characters....", "one secret of 32 characters....", "another"))
    assert first[0] == again[0] != other[0]
    assert (first[1:], again[1:]) == ((200, 422), (409, 422))  # the unit was last served by force
    assert not files_hold(target, UNIT)
    with live.open(target, "checkout") as experiment:
        assert experiment.replay().is_identical


def test_a_unit_that_is_stored_as_a_hash_is_erased_with_the_secret(run, either, tmp_path):
    target, secret = either, tmp_path / "secret"
    secret.write_text("one secret of thirty-two characters\n")
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    options = ServiceOptions(target, privacy_key=secret.read_text().strip())
    with live.open(target, "checkout") as experiment:
        experiment.decide(options.hide(UNIT), key=options.hide("k"))
    command = ("live", "delete-unit", target, "checkout", UNIT)
    assert run(*command).stdout == "erased: 0 decisions\n"
    secret.write_text("short")
    assert run(*command, "--privacy-key", secret).returncode == 2
    secret.write_text("another secret of thirty-two characters")
    assert run(*command, "--privacy-key", secret).stdout == "erased: 0 decisions\n"
    secret.write_text(f"{options.privacy_key}\n")
    assert run(*command, "--privacy-key", secret).stdout == "erased: 1 decisions\n"


@pytest.mark.parametrize("unit", ["erased:ann", "erased:" + 32 * "0"])
def test_a_unit_whose_name_looks_erased_is_erased(tmp_path, unit):
    target = str(tmp_path / "shop.db")
    with live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        id_ = experiment.decide(unit, key="k").id
        experiment.decide(key=unit)
        assert live.delete_unit(target, "checkout", unit) == 2
        assert not files_hold(target, unit)
        # The names that they have now are erased again, or nothing is.
        (row,) = experiment.store.decisions(experiment.row.id, [id_])
        assert live.delete_unit(target, "checkout", row.unit) == 1
        assert live.delete_unit(target, "checkout", row.key) == 0


def test_a_unit_served_by_force_is_erased_from_python_as_well(either):
    target = either
    live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    with Store.open(target) as store:
        prepare(store)
        row = store.experiment("checkout")
        run_sql(store, "INSERT INTO serve_forced VALUES ('x', ?, ?, ?, 'red', 1.0)", row.id, UNIT, UNIT)
    assert live.delete_unit(target, "checkout", UNIT) == 1
    assert live.delete_unit(target, "checkout", UNIT) == 0
    assert not files_hold(target, UNIT)


def test_what_is_too_old_is_erased_by_the_service(either):
    target = either
    with live.create(target, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        experiment.decide_many([UNIT] * 2500)
        young = experiment.decide("young")
    app = make_app(ServiceOptions(target, retain=3600.0))
    with serving(app) as client:
        assert client.get("/healthz").status_code == 200
        with Store.open(target) as store:
            row = store.experiment("checkout")
            app.state.hub.chores.once()
            assert run_sql(store, "SELECT count(*) FROM live_decision WHERE unit = ?", UNIT) == [(2500,)]
            run_sql(store, "UPDATE live_decision SET decided_at = decided_at - 4000 WHERE unit = ?", UNIT)
            run_sql(store, "INSERT INTO serve_forced VALUES ('x', ?, ?, ?, 'red', 1.0)", row.id, UNIT, UNIT)
            app.state.hub.chores.once()
            units = dict(run_sql(store, "SELECT unit, count(*) FROM live_decision GROUP BY unit"))
            assert units.pop("young") == 1
            assert list(units.values()) == [2500]
            assert run_sql(store, "SELECT key, unit FROM serve_forced") == [("erased:x", None)]
            assert count_forced(store, row.id) == {"red": 1}
    assert not files_hold(target, UNIT)
    with live.open(target, "checkout") as experiment:
        assert experiment.decide(key=young.key).id == young.id
        assert experiment.replay().is_identical


def test_a_short_secret_is_refused(run, tmp_path):
    (tmp_path / "secret").write_text("short")
    for name in ("secret", "missing"):
        done = run("serve", "--store", str(tmp_path / "shop.db"), "--privacy-key", str(tmp_path / name))
        assert (done.returncode, "'privacy_key'" in done.stderr) == (2, True)
