"""Sizes that no memory holds, on the command line: a sentence and exit code 2, before anything begins."""

import time

import pytest

from bandstrap.engine.work import memory
from sampling import telling

TOML = """
title = "large"
[[panels]]
name = "a"
environment = "gaussian"
{}
curves = [{{ label = "UCB", policy = "ucb1"{} }}]
"""
BOUNDS = """
title = "large"
{}
[[panels]]
name = "a"
plot = "bounds"
distribution = "normal"
sample_sizes = [{}]
curves = [{{ label = "flip", bound = "sign_flip" }}]
"""
PLAY = ("simulate", "--policy", "ucb1")
SAMPLE = ("coverage", "--distribution", "normal", "--sample-size")
# The command, or the text of a file to simulate, with the number in place of {n}.
CASES = {
    "replications": (*PLAY, "--replications", "{n}"),
    "horizon": (*PLAY, "--horizon", "{n}"),
    "arms": (*PLAY, "--environment", "gaussian:n_arms={n}"),
    "dimension": ("simulate", "--policy", "oful", "--environment", "linear_bandit:dimension={n}"),
    "actions": ("simulate", "--policy", "oful", "--environment", "linear_bandit:n_actions={n}"),
    "replicates": ("simulate", "--policy", "bootstrapped_ts:n_replicates={n}", "--environment", "bernoulli"),
    "resamples": ("simulate", "--policy", "bootstrapped_ucb:quantile=streaming,n_resamples={n}"),
    "sample size": (*SAMPLE, "{n}"),
    "samples": (*SAMPLE, "5", "--replications", "{n}"),
    "resamples of a bound": (*SAMPLE, "5", "--bound", "bootstrap:quantile=monte-carlo,n_resamples={n},sigma=1"),
    "league's replications": ("league", "--replications", "{n}", "--out", "out"),
    "league's horizon": ("league", "--horizon", "{n}", "--out", "out"),
    "paper's replications": ("paper", "6", "--replications", "{n}", "--out", "out"),
    "paper's bounds": ("paper", "1", "--replications", "{n}", "--out", "out"),
    "file's horizon": TOML.format("horizon = {n}", ""),
    "file's replications": TOML.format("replications = {n}", ""),
    "file's curve": TOML.format("", ", replications = {n}"),
    "file's sample size": BOUNDS.format("", "5, {n}"),
    "file's samples": BOUNDS.format("replications = {n}", "5"),
}


@telling("size", [10**10, 10**12, 10**18, 10**400], [10**12, 10**400], ids=lambda n: f"1e{len(str(n)) - 1}")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_cannot_fit_is_refused_at_once(run, tmp_path, monkeypatch, case, size):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memory, "usable_memory", lambda: 16e9)
    if isinstance(case, str):
        (tmp_path / "large.toml").write_text(case.replace("{n}", str(size)))
        case = ("simulate", "large.toml", "--out", "out")
    start = time.process_time()
    done = run(*(text.replace("{n}", str(size)) for text in case))
    spent = time.process_time() - start
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "of memory available" in done.stderr or "9223372036854775807" in done.stderr
    assert not (tmp_path / "out").exists()
    assert spent < 3  # most of it imports, of the first case of each command


def test_memory_that_ends_all_the_same_is_a_sentence(run, monkeypatch):
    def play(*_, **__):
        raise MemoryError("Unable to allocate 3 TiB")

    monkeypatch.setattr("bandstrap.experiments.api.run_plans", play)
    done = run(*PLAY)
    assert (done.returncode, done.stderr) == (2, "error: there is not enough memory: Unable to allocate 3 TiB.\n")
