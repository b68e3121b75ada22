"""``Result``: its numbers against NumPy and SciPy, its file, its words."""

import dataclasses
import errno
import io
import json
import os

import numpy as np
import polars
import pytest
from scipy import stats

from bandstrap.basics.storage import NO_SEAL, seal
from bandstrap.engine.simulator.result import COLUMNS, Result
from bandstrap.engine.simulator.simulate import simulate
from bandstrap.environments import Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.policies import UCB1, GaussianTS
from sampling import each


def made(replications: int = 30, policies=("one", "two: a, b=1", "drei ü")) -> Result:
    """A result of made-up numbers."""
    rng = np.random.default_rng(4)
    steps = rng.exponential(size=(len(policies), replications, 4)) + 0.3 * np.arange(len(policies))[:, None, None]
    return Result(
        policies=tuple(policies),
        environment="gaussian:n_arms=3",
        horizon=100,
        seed=2**60,
        checkpoints=np.array([1, 20, 50, 100]),
        replications=np.arange(replications) * 2,
        regret=np.cumsum(steps, axis=2),
        pulls=rng.integers(1, 90, (len(policies), replications, 3)),
    )


def test_mean_standard_error_and_quantiles_are_numpys():
    result = made()
    np.testing.assert_allclose(result.mean, result.regret.mean(axis=1), rtol=1e-12)
    assert [row["mean"] for row in result.summary()] == result.mean[:, -1].tolist()
    np.testing.assert_allclose(result.standard_error, stats.sem(result.regret, axis=1), rtol=1e-12)
    for p in (0.5, 0.95, 0.99):
        np.testing.assert_array_equal(result.quantile(p), np.quantile(result.regret, p, axis=1, method="inverted_cdf"))
    np.testing.assert_array_equal(result.final("drei ü"), result.regret[2, :, -1])


def test_summary_has_one_row_per_policy_and_the_promised_columns():
    result = made()
    summary = result.summary()
    assert [tuple(row) for row in summary] == [COLUMNS] * 3
    assert COLUMNS == ("policy", "mean", "standard_error", "median", "q90", "q95", "q99")
    for i, row in enumerate(summary):
        final = result.regret[i, :, -1]
        tails = (np.sort(final)[-(-p * final.size // 100) - 1] for p in (90, 95, 99))
        expected = (final.mean(), stats.sem(final), np.median(final), *tails)
        assert row["policy"] == result.policies[i]
        np.testing.assert_allclose([row[name] for name in COLUMNS[1:]], expected, rtol=1e-12)
        assert all(type(row[name]) is float for name in COLUMNS[1:])
    assert list(result) == list(summary)


def test_summary_prints_as_a_table():
    text = str(made().summary())
    lines = text.splitlines()
    assert len(lines) == 4
    assert lines[0].split() == list(COLUMNS)
    assert lines[2].startswith("two: a, b=1")
    assert len({len(line) for line in lines}) == 1
    assert repr(made().summary()) == text


def test_a_result_prints_as_its_summary():
    result = made()
    first, *rest = repr(result).splitlines()
    assert "\n".join(rest) == str(result.summary())
    assert first == (
        f"Regret after {result.horizon} rounds of {result.environment}, {result.n_replications} replications, "
        f"seed {result.seed}"
    )
    assert "array" not in repr(result)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_difference_is_scipys_paired_interval(confidence):
    result = made()
    found = result.difference("one", "drei ü", confidence)
    test = stats.ttest_rel(result.final("one"), result.final("drei ü"))
    interval = test.confidence_interval(confidence)
    assert (found.first, found.second, found.confidence) == ("one", "drei ü", confidence)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert found.mean / found.standard_error == pytest.approx(test.statistic, rel=1e-9)
    back = result.difference("drei ü", "one", confidence)
    assert (back.low, back.mean, back.high) == pytest.approx((-found.high, -found.mean, -found.low), rel=1e-9)


def test_a_single_replication_has_no_standard_error():
    result = made(1)
    assert np.isnan(result.standard_error).all()
    found = result.difference("one", "drei ü")
    assert np.isnan([found.standard_error, found.low, found.high]).all()
    assert found.mean == result.final("one")[0] - result.final("drei ü")[0]
    assert "nan" in str(result.summary())


@pytest.mark.parametrize("call", [lambda r: r.final("ucb"), lambda r: r.difference("one", "ucb")])
def test_an_unknown_policy_is_refused(call):
    with pytest.raises(InvalidInput, match=r"'policy' parameter of Result.final must be one of 'one', .*Got 'ucb'"):
        call(made())


@each("value", [0, 1, -0.2, 1.5, np.nan, "0.5", None])
def test_a_probability_that_is_none_is_refused(value):
    with pytest.raises(InvalidInput, match=r"'probability' parameter of Result.quantile must be"):
        made().quantile(value)
    with pytest.raises(InvalidInput, match=r"'confidence' parameter of Result.difference must be"):
        made().difference("one", "drei ü", value)


def test_a_result_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().seed = 3


# --- the file ---------------------------------------------------------------------------------------------------------


def same(one: Result, other: Result) -> bool:
    return all(
        (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()) if isinstance(a, np.ndarray) else a == b
        for a, b in ((getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(Result))
    )


@pytest.mark.parametrize("replications", [1, 30])
@pytest.mark.parametrize("policies", [("one",), ("one", "two: a, b=1", "drei ü")])
def test_a_file_gives_back_every_byte(tmp_path, replications, policies):
    result = made(replications, policies)
    path = tmp_path / "new" / "folder" / "result.parquet"
    result.to_parquet(path)
    assert same(Result.from_parquet(path), result)
    assert same(Result.from_parquet(str(path)), result)
    assert [p.name for p in path.parent.iterdir()] == ["result.parquet"]  # no leftovers


def test_a_simulated_result_gives_back_every_byte(tmp_path):
    result = simulate([UCB1(), GaussianTS()], Gaussian(), horizon=30, replications=7, seed=3, progress=False)
    result.to_parquet(tmp_path / "r.parquet")
    assert same(Result.from_parquet(tmp_path / "r.parquet"), result)


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "r.parquet"
    made(30).to_parquet(path)
    made(2).to_parquet(path)
    assert Result.from_parquet(path).n_replications == 2


def test_a_failed_write_leaves_the_old_file_and_names_it(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    made(2).to_parquet(path)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/r\.parquet'$"):
        made(30).to_parquet(path)
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]
    assert Result.from_parquet(path).n_replications == 2


def test_any_parquet_reader_can_read_the_file(tmp_path):
    result = made()
    result.to_parquet(tmp_path / "r.parquet")
    frame = polars.read_parquet(tmp_path / "r.parquet")
    assert frame.columns == ["policy", "replication", "regret", "pulls"]
    assert frame.height == 90
    row = frame.row(31, named=True)
    assert row["policy"] == result.policies[1]
    assert row["replication"] == 2
    assert row["regret"] == result.regret[1, 1].tolist()
    assert row["pulls"] == result.pulls[1, 1].tolist()


def refused(path):
    with pytest.raises(InvalidInput, match=r"is not a result written by bandstrap, or is damaged\.$") as caught:
        Result.from_parquet(path)
    assert str(path) in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path):
    for path in (tmp_path / "none.parquet", tmp_path):
        with pytest.raises(InvalidInput, match=r"is not a file\.$"):
            Result.from_parquet(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"hello, world\n" * 100], ids=["empty", "short", "text"])
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "foreign.parquet"
    path.write_bytes(content)
    refused(path)


def test_a_parquet_file_of_somebody_else_is_refused(tmp_path):
    path = tmp_path / "other.parquet"
    polars.DataFrame({"policy": ["ucb1"], "regret": [1.0]}).write_parquet(path)
    refused(path)


def damaged(whole, rng):
    """A file with one bit flipped, cut off, lengthened, or some of its bytes replaced or moved."""
    data = bytearray(whole)
    kind, place = rng.integers(5), int(rng.integers(len(whole)))
    if kind == 0:
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        data[place:place] = rng.bytes(1 + int(rng.integers(40)))
    elif kind == 3:
        data[place : place + 20] = rng.bytes(20)
    else:
        data = data[place:] + data[:place]
    return bytes(data)


def test_no_damaged_file_is_read_and_none_crashes(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    made(3).to_parquet(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    changed = {data for _ in range(3000) if (data := damaged(whole, rng)) != whole}
    assert len(changed) > 2500
    for data in changed:
        monkeypatch.setattr("pathlib.Path.read_bytes", lambda path, data=data: data)
        refused(path)


def test_damage_is_noticed_before_anything_is_parsed(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    made(3).to_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 64]) + whole[-4:])  # the length of Parquet's own metadata

    def parse(*_, **__):
        raise AssertionError("parsed")

    monkeypatch.setattr(polars, "read_parquet", parse)
    monkeypatch.setattr(polars, "read_parquet_metadata", parse)
    refused(path)


@pytest.mark.parametrize("name", ['"seal": "', f'a"seal": "{"0" * 64}"', "\\", "x" * 5000, "\x1b[31m\n"])
def test_names_that_look_like_a_seal_come_back(tmp_path, name):
    result = made(2, (name, "other"))
    result.to_parquet(tmp_path / "r.parquet")
    assert same(Result.from_parquet(tmp_path / "r.parquet"), result)


def rewritten(path, change_frame=lambda frame: frame, change_about=lambda about: about):
    """The file of a result, with something changed by another program, which knows nothing of the seal."""
    made(5).to_parquet(path)
    about = json.loads(polars.read_parquet_metadata(path)["bandstrap"])
    frame = change_frame(polars.read_parquet(path))
    frame.write_parquet(path, metadata={"bandstrap": json.dumps(change_about(about))})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"change_frame": lambda f: f.drop("pulls")}, id="no pulls"),
        pytest.param({"change_frame": lambda f: f.head(-1)}, id="a row lost"),
        pytest.param({"change_frame": lambda f: f.head(0)}, id="all rows lost"),
        pytest.param(
            {"change_frame": lambda f: f.with_columns(replication=polars.col("replication") + 1)}, id="one number"
        ),
        pytest.param({"change_about": lambda a: a | {"checkpoints": [1, 2]}}, id="fewer checkpoints"),
        pytest.param({"change_about": lambda a: {"format": a["format"]}}, id="nothing known"),
        pytest.param({"change_about": lambda a: [1]}, id="a list"),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path, change):
    path = tmp_path / "r.parquet"
    rewritten(path, **change)
    refused(path)


def test_a_sealed_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "r.parquet"
    path.write_bytes(seal(json.dumps({"format": 3, "seal": NO_SEAL}).encode()))
    refused(path)
    content = io.BytesIO()
    polars.DataFrame({"x": [1]}).write_parquet(content, metadata={"bandstrap": json.dumps({"seal": NO_SEAL})})
    path.write_bytes(seal(content.getvalue()))
    refused(path)


def test_a_later_format_is_refused_by_its_number(tmp_path):
    path = tmp_path / "r.parquet"
    rewritten(path, change_about=lambda a: a | {"format": 99, "seal": NO_SEAL})
    path.write_bytes(seal(path.read_bytes()))
    with pytest.raises(InvalidInput, match=r"was written in format 99; this version reads 3\.$"):
        Result.from_parquet(path)


def test_an_older_format_which_had_no_seal_is_refused_by_its_number(tmp_path):
    path = tmp_path / "r.parquet"
    rewritten(path, change_about=lambda a: {"format": 2, "policies": ["one"], "digest": "0" * 64})
    with pytest.raises(InvalidInput, match=r"was written in format 2; this version reads 3\.$"):
        Result.from_parquet(path)


def test_what_may_not_be_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    made(2).to_parquet(path)

    def refuse(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(InvalidInput, match=r"r\.parquet cannot be read: Permission denied\.$"):
        Result.from_parquet(path)


def test_a_plot_shows_every_policy_and_its_mean():
    import matplotlib.pyplot as plt

    result = made()
    figure = result.plot()
    try:
        (axes,) = figure.axes
        ends = [line.get_ydata()[-1] for line in axes.lines]
        assert all(any(end == pytest.approx(mean) for end in ends) for mean in result.mean[:, -1])
        words = "\n".join(text.get_text() for text in figure.findobj(plt.Text))
        assert all(name in words for name in result.policies)
    finally:
        plt.close(figure)
