"""``bandstrap paper``: what it writes and prints, and how it refuses."""

import json
import os

import pytest

from bandstrap.paper import reproduce as module
from paper.small import SMALL
from sampling import exhaustive


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """The command, with a small Figure 6: exit code, standard output, standard error."""
    (tmp_path / "figure6.toml").write_text(SMALL)
    whole = module.paper_file
    monkeypatch.setattr(module, "paper_file", lambda name: tmp_path / name if name == "figure6.toml" else whole(name))
    monkeypatch.chdir(tmp_path)

    def go(*arguments):
        done = run(*arguments)
        return done.returncode, done.stdout, done.stderr

    return go


def test_a_small_run_writes_report_claims_and_figures(run, tmp_path):
    code, out, err = run("paper", 6, "--replications", 4, "--seed", 3, "--jobs", 1, "--out", "new/out")
    assert code == 0, err
    folder = tmp_path / "new/out"
    content = json.loads((folder / "claims.json").read_text())
    assert (content["seed"], content["replications"]) == (3, 4)
    assert content["summary"] in out
    assert "report: new/out/report.html" in out
    for one in content["claims"]:
        assert one["says"] in out
        assert one["verdict"] in out
    before = (folder / "claims.json").read_bytes()
    again = run("paper", 6, "--replications", 4, "--seed", 3, "--jobs", 2, "--out", "new/out")
    assert again[:2] == (0, out)
    assert (folder / "claims.json").read_bytes() == before


@exhaustive
def test_a_figure_run_again_keeps_the_others_and_prints_its_own_claims(run, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHAPTERS", ("figure4", "figure6"))
    other = SMALL.replace("Figure 6", "Figure 4").replace('"6', '"other-6').replace("horizon = 60", "horizon = 61")
    (tmp_path / "figure4.toml").write_text(other)
    whole = module.paper_file
    monkeypatch.setattr(module, "paper_file", lambda name: tmp_path / name if name == "figure4.toml" else whole(name))
    settings = ("--replications", 4, "--seed", 3, "--jobs", 1, "--out", "out")
    code, out, err = run("paper", 6, *settings)
    assert code == 0, err
    assert "Not run here with seed 3 and 4 replications: Figure 4.\n" in out
    assert "kept" not in out
    code, out, err = run("paper", 4, *settings)
    assert code == 0, err
    assert "kept from earlier runs: Figure 6\n" in out
    assert "Not run" not in out
    assert "The published curves." not in out
    assert "1 claim of the paper: " in out
    page = (tmp_path / "out/report.html").read_bytes()
    code, out, err = run("paper", 6, *settings)
    assert code == 0, err
    assert "The published curves." in out
    assert "kept from earlier runs: Figure 4\n" in out
    assert (tmp_path / "out/report.html").read_bytes() == page


def test_defaults_and_quick(run, monkeypatch):
    asked = []

    def stop(*arguments, **options):
        options["executor"] = options["executor"]._max_workers
        asked.append((*arguments, options))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "reproduce", stop)
    for arguments in ([], ["--quick"], ["1", "3", "--replications", "7", "--jobs", "2", "--seed", "0"]):
        assert run("paper", *arguments) == (130, "", "stopped\n")
    figures = [figures for figures, *_ in asked]
    assert figures == [[], [], ["1", "3"]]
    assert [str(out) for _, out, _ in asked] == ["paper-results"] * 3
    assert [options for *_, options in asked] == [
        {"seed": 2019, "replications": 200, "executor": os.cpu_count()},
        {"seed": 2019, "replications": 20, "executor": os.cpu_count()},
        {"seed": 0, "replications": 7, "executor": 2},
    ]


def test_ablations_go_to_a_page_of_their_own(run, monkeypatch):
    from bandstrap.paper.ablations import run as ablations

    asked = []
    monkeypatch.setattr(ablations, "ablate", lambda out, **options: asked.append((str(out), options)) or ())
    code, out, _ = run("paper", "--ablations", "--quick", "--jobs", "1", "--out", "new")
    assert (code, out) == (0, "ablations: new/ablations.html\n")
    ((folder, options),) = asked
    assert (folder, options["seed"], options["replications"]) == ("new", 2019, 20)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["8"], "'FIGURE' parameter of bandstrap paper must be one of '1', '2', '3', '4', '5', '6', '7', 'theorems', "),
        (["abc"], "'FIGURE' parameter of bandstrap paper must be one of"),
        (["6", "0"], "Got '0'"),
        ([""], "Got ''"),
        (
            ["6", "--replications", "0"],
            "'replications' parameter of bandstrap paper must be an integer of at least 2. Got 0",
        ),
        (
            ["6", "--replications", "1"],
            "'replications' parameter of bandstrap paper must be an integer of at least 2. Got 1",
        ),
        (["6", "--replications", "-3"], "'replications' parameter of bandstrap paper must be an integer of at least 2"),
        (["6", "--quick", "--replications", "4"], "takes --quick or --replications, not both"),
        (["6", "--ablations"], "takes figures or --ablations, not both"),
        (["6", "--jobs", "0"], "'jobs' parameter of bandstrap paper must be an integer of at least 1. Got 0"),
        (["6", "--seed", "-1"], "'seed' parameter of bandstrap paper must be an integer of at least 0. Got -1"),
        (["6", "--out", "figure6.toml"], "Got figure6.toml, where figure6.toml is no folder, instead."),
        (["6", "--out", "figure6.toml/below"], "Got figure6.toml/below, where figure6.toml is no folder, instead."),
        (["6", "--out", "/proc/nothing"], "Got /proc/nothing, where /proc cannot be written to ("),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_arguments_get_one_sentence_and_exit_code_2(run, tmp_path, arguments, message):
    code, out, err = run("paper", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["figure6.toml"]


@pytest.mark.parametrize("arguments", [["--replications", "abc"], ["--seed", "1.5"], ["--colour"]], ids=" ".join)
def test_what_is_no_number_or_no_option_is_refused(run, arguments):
    code, out, err = run("paper", "6", *arguments)
    assert (code, out) == (2, "")
    assert arguments[0].removeprefix("--") in err
