"""``bandstrap readout`` and ``bandstrap evaluate``: logs in files, every form of propensities, and refusals."""

import json

import numpy as np
import polars
import pytest

from bandstrap import live
from bandstrap.evidence import readout_of_log, value
from bandstrap.readout import LogColumns, open_log
from sampling import each

COLUMNS = ("--reward", "reward")


def table_of(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(0.2 + 0.6 * rng.random(n), 6)
    arms = (rng.random(n) < p).astype(int)
    rewards = (rng.random(n) < np.array([0.1, 0.3])[arms]).astype(float)
    return p, arms, rewards


@pytest.fixture
def log(tmp_path):
    """A log with each form of propensities, as CSV and Parquet, and its columns."""
    p, arms, rewards = table_of()
    frame = polars.DataFrame(
        {
            "variant": np.array(["red", "green"])[arms],
            "reward": rewards,
            "p_green": p,
            "p_red": 1 - p,
            "own": np.where(arms == 1, p, 1 - p),
            "text": [json.dumps([1 - each_, each_]) for each_ in p.tolist()],
            "at": 1.7e9 + 60.0 * np.arange(len(p)),
        }
    )
    frame.write_csv(tmp_path / "log.csv")
    lists = polars.Series("both", [[1 - each_, each_] for each_ in p.tolist()])
    frame.with_columns(lists).write_parquet(tmp_path / "log.parquet")
    return tmp_path, (arms, rewards, np.stack([1 - p, p], axis=1))


def read(run, *arguments):
    done = run(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_form_of_a_log_gives_the_readout_of_the_library(run, log):
    folder, columns = log
    expected = readout_of_log(*columns, labels=["red", "green"], control="red").to_dict()
    forms = [
        ("log.csv", "red=p_red,green=p_green"),
        ("log.csv", "own"),
        ("log.csv", "text"),
        ("log.parquet", "red=p_red,green=p_green"),
        ("log.parquet", "own"),
        ("log.parquet", "both"),
    ]
    for file, propensity in forms:
        options = ("--arm", "variant", *COLUMNS, "--propensity", propensity, "--arms", "red,green")
        found = read(run, "readout", folder / file, *options, "--control", "red")
        assert found["sentence"] == expected["sentence"]
        assert found["effects"][0]["difference"] == pytest.approx(expected["effects"][0]["difference"], abs=1e-9)
        assert [each_["ips"] for each_ in found["values"]] == pytest.approx([v["ips"] for v in expected["values"]])
        assert found["promises"] == expected["promises"]


def test_one_screen_and_a_page_with_a_picture(run, log, tmp_path):
    folder, columns = log
    options = ("--arm", "variant", *COLUMNS, "--propensity", "red=p_red,green=p_green", "--time", "at")
    done = run("readout", folder / "log.parquet", *options, "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "'green' may be shipped: every other arm is ruled out."
    assert len(lines) <= 24
    assert "against red" in done.stdout
    assert "had all seen" in done.stdout
    assert "at all times at once" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "data:image/svg+xml" in page
    assert "&#39;green&#39; may be shipped" in page
    assert "2023-11-14" in page
    expected = readout_of_log(*columns, labels=["red", "green"])
    assert f"{expected.effects[0].difference.lower:.4g}" in page


def test_labels_that_are_markup_are_shown_as_they_are(run, tmp_path):
    path = tmp_path / "log.csv"
    rows = ["arm,reward", *("<b>$x$,1" if i % 3 else "plain,0" for i in range(300))]
    path.write_text("\n".join(rows))
    options = ("--arm", "arm", "--reward", "reward", "--propensity", "<b>$x$=0.5,plain=0.5")
    done = run("readout", path, *options, "--html", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    assert "<b>$x$" not in (tmp_path / "page.html").read_text()


def test_missing_rewards_flags_and_revenue(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["arm;reward;shown"]
    for i in range(2000):
        arm = "ab"[rng.integers(2)]
        amount = f"{rng.lognormal(3, 1):.2f}" if rng.random() < 0.3 else "0"
        lines.append(f"{arm};{'NA' if i % 40 == 0 else amount};{'false' if i % 50 == 3 else 'true'}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines))
    options = ("--arm", "arm", "--reward", "reward", "--propensity", "a=0.5,b=0.5", "--separator", ";")
    found = read(run, "readout", path, *options, "--active", "shown")
    assert (found["n_missing"], found["n_inactive"], found["basis"]) == (50, 40, "capped")
    assert found["effects"][0]["uncapped"]["estimate"] is not None
    assert found["share_beyond"] > 0
    capped = read(run, "readout", path, *options, "--cap", 50)
    assert (capped["high"], capped["n_skipped"]) == (50, 0)
    valued = read(run, "evaluate", path, "--arm", "b", "--arm-column", *options[1:], "--cap", 50)
    assert valued["left_out"] == 50
    assert 0 < valued["lower"] < valued["estimate"] < valued["upper"] < 50


def test_values_of_arms_shares_and_policies(run, log):
    folder, columns = log
    options = ("--arm-column", "variant", *COLUMNS, "--propensity", "red=p_red,green=p_green")
    path = folder / "log.csv"
    for given, target in (
        (("--arm", "green"), [0, 1]),
        (("--policy", "even"), [0.5, 0.5]),
        (("--policy", "red=0.2,green=0.8"), [0.2, 0.8]),
    ):
        found = read(run, "evaluate", path, *given, *options)
        expected = value(*columns, target)
        for name in ("estimate", "lower", "upper", "ips", "snips", "effective_size"):
            assert found[name] == pytest.approx(getattr(expected, name), abs=1e-9)
    assert "Doubly robust" in run("evaluate", path, "--arm", "green", *options).stdout
    refused = run("evaluate", path, "--policy", "ucb1:sigma=0.5", *options)
    assert refused.returncode == 2
    assert "only on a log in which all arms have the same probability" in refused.stderr


def test_a_learning_policy_is_replayed_on_a_uniform_log(run, tmp_path):
    rng = np.random.default_rng(0)
    arms = rng.integers(2, size=800)
    polars.DataFrame(
        {"arm": np.array(["a", "b"])[arms], "reward": (rng.random(800) < np.array([0.1, 0.8])[arms])}
    ).write_parquet(tmp_path / "log.parquet")
    options = ("--arm-column", "arm", "--reward", "reward", "--propensity", "a=0.5,b=0.5")
    found = read(run, "evaluate", tmp_path / "log.parquet", "--policy", "ucb1:sigma=0.5", *options)
    assert found["method"] == "rejection replay"
    assert 350 < found["n_kept"] < 450
    assert found["shares"]["b"] > 0.8
    text = run("evaluate", tmp_path / "log.parquet", "--policy", "ucb1:sigma=0.5", *options).stdout
    assert "by rejection replay on a uniformly randomised log" in text


def test_logs_that_a_live_experiment_exported(run, tmp_path):
    with live.create(
        tmp_path / "shop.db", "shop", policy="bernoulli_ts", arms=["red", "green"], floor=0.1, window="1h", seed=1
    ) as shop:
        rng = np.random.default_rng(0)
        decisions = shop.decide_many([f"u{i}" for i in range(400)], keys=[f"k{i}" for i in range(400)])
        decisions.sort(key=lambda decision: decision.id)  # the order of decisions of one moment
        for decision in decisions[:350]:
            shop.reward(decision.id, float(rng.random() < (0.1 if decision.arm == "red" else 0.5)))
        shop.export(tmp_path / "shop.parquet")
    frame = polars.read_parquet(tmp_path / "shop.parquet")
    found = read(run, "readout", tmp_path / "shop.parquet")
    first_open = int(np.argmax((frame["settled"] == "open").to_numpy()))
    assert found["n_decisions"] == first_open > 0
    assert found["notes"] == [f"Decisions not counted yet, from the first whose window is open: {400 - first_open}."]
    here = frame[:first_open]
    direct = readout_of_log(
        here["arm"].to_list(), here["reward"].to_numpy(), np.array(here["weights"].to_list()), labels=["red", "green"]
    )
    assert found["effects"][0]["difference"]["lower"] == direct.effects[0].difference.lower
    refused = run("readout", tmp_path / "shop.parquet", "--time", "time")
    assert (refused.returncode, "--time needs" in refused.stderr) == (2, True)


@each(
    "bad",
    [
        (("--arm", "variant"), "--reward is missing"),
        (("--arm", "nobody", *COLUMNS, "--propensity", "own"), "no column 'nobody'"),
        (("--arm", "variant", *COLUMNS, "--propensity", "red=p_red,green"), "ARM=COLUMN or ARM=NUMBER"),
        (("--arm", "variant", *COLUMNS, "--propensity", "red=p_red,blue=p_green"), "must be one of the arms red, blue"),
        (("--arm", "variant", *COLUMNS, "--propensity", "red=0.5,green=0.6"), "sum of 1"),
        (("--arm", "variant", *COLUMNS, "--propensity", "red=1,green=0"), "positive for the arm that was chosen"),
        (("--arm", "variant", "--reward", "variant", "--propensity", "own"), "column 'variant' is"),
        (("--arm", "p_green", *COLUMNS, "--propensity", "own"), "compares 2 to 64 arms"),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--control", "blue"), "'control'"),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--alpha", "2"), "'alpha'"),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--low", "3"), "--low needs the other end"),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--low", "3", "--high", "1"), "'high'"),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--cap", "3", "--high", "1"), "--cap takes the place"),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--active", "p_green"), "is 0."),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--html", "."), "'html'"),
        (("--arm", "variant", *COLUMNS, "--propensity", "own", "--html", "log.csv"), "whose name ends in .html"),
        ((), "not a log that a live experiment exported"),
    ],
)
def test_mistakes_get_a_sentence(run, log, bad):
    options, said = bad
    for file in ("log.csv", "log.parquet"):
        done = run("readout", log[0] / file, *options)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert said in done.stderr
        assert "Traceback" not in done.stderr


@each(
    "bad",
    [
        ((), "either --policy or --arm"),
        (("--arm", "blue"), "one of the arms red, green"),
        (("--policy", "red=0.5"), "shares from 0 to 1 with a sum of 1"),
        (("--policy", "red=-1,green=2"), "shares from 0 to 1 with a sum of 1"),
        (("--policy", "red=a,green=b"), "a number for each arm"),
        (("--policy", "ucb1", "--seed", "-1"), "'seed'"),
        (("--arm", "red", "--low", "0"), "--low needs the other end"),
        (("--arm", "red", "--low", "0.5", "--high", "2"), "must lie from 0.5 to 2, and one is 0"),
        (("--arm", "red", "--cap", "1", "--high", "2"), "--cap takes the place"),
        (("--arm", "red", "--cap", "0"), "'cap'"),
    ],
)
def test_mistakes_of_evaluate_get_a_sentence(run, log, bad):
    options, said = bad
    columns = ("--arm-column", "variant", *COLUMNS, "--propensity", "red=p_red,green=p_green")
    done = run("evaluate", log[0] / "log.csv", *options, *columns)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_files_that_are_no_logs(run, tmp_path):
    options = ("--arm", "arm", "--reward", "reward", "--propensity", "a=0.5,b=0.5")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bytes.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "word.csv").write_text("arm,reward\na,1\nb,many\n")
    (tmp_path / "none.csv").write_text("arm,reward\n,1\n")
    for name in ("empty.csv", "bytes.parquet", "missing.csv", "word.csv", "none.csv"):
        done = run("readout", tmp_path / name, *options)
        assert done.returncode == 2, name
        assert done.stderr.count("\n") == 1
    assert "Line 3 of" in run("readout", tmp_path / "word.csv", *options).stderr
    assert "column 'reward' is 'many'; it must be a number" in run("readout", tmp_path / "word.csv", *options).stderr
    (tmp_path / "header.csv").write_text("arm,reward\n")
    found = read(run, "readout", tmp_path / "header.csv", *options)
    assert (found["n_decisions"], found["word"]) == (0, "open")
    three = "arm,reward,p\na,1,0.3\nb,0,0.3\nc,0,0.4\n"
    (tmp_path / "three.csv").write_text(three)
    done = run("readout", tmp_path / "three.csv", "--arm", "arm", "--reward", "reward", "--propensity", "p")
    assert "With 3 arms, the probability of each must be known" in done.stderr


def test_logs_are_read_in_batches(log, monkeypatch):
    monkeypatch.setattr("bandstrap.readout.log.BATCH", 700)
    folder, (_, rewards, weights) = log
    found = open_log(folder / "log.csv", LogColumns("variant", "reward", "own", ("red", "green")))
    batches = list(found.batches())
    assert [len(batch.arms) for batch in batches] == [700, 700, 700, 700, 200]
    np.testing.assert_array_equal(np.concatenate([batch.rewards for batch in batches]), rewards)
    np.testing.assert_allclose(np.concatenate([batch.weights for batch in batches]), weights)
    np.testing.assert_array_equal(np.concatenate([batch.times for batch in batches]), np.arange(3000))
