"""How an experiment stands: the database's counts against a slow twin, and what is told of arms, lift and changes."""

import dataclasses
import json
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstrap import live
from bandstrap.bounds import betting, difference, student_t
from bandstrap.errors import InvalidInput
from bandstrap.live import counters, counting
from bandstrap.live.counters import CountKeeper
from bandstrap.live.counting import DAY
from bandstrap.live.database import ReadOnly, StoreError
from bandstrap.live.fold import checksum, write_snapshot
from bandstrap.live.history import CountHistory
from bandstrap.live.rows import Change
from bandstrap.live.status import ALPHA, RECENT, betting_interval, periods_of
from bandstrap.live.tally import Tally, student_interval, welch_interval
from live.checkout import ARMS, at, make
from naive.live_status import naive_counts, naive_interval, naive_quantile, naive_units
from sampling import telling

START = 1.79e9


def begin(target, **options):
    """An experiment whose clock stands at the start."""
    experiment = make(target, **options)
    at(experiment, START)
    return experiment


# --- tallies ------------------------------------------------------------------------------------------------------------

REWARDS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


def tally_of(rewards):
    """As the database sums it."""
    middle, spread = statistics.fmean(rewards), (max(rewards) - min(rewards)) or 1.0
    scaled = [(reward - middle) / spread for reward in rewards]
    return Tally.of_scaled(len(rewards), middle, spread, sum(scaled), sum(z * z for z in scaled))


@given(REWARDS, REWARDS, st.sampled_from([0.0, 1e12]), st.sampled_from([1.0, 1e-3]))
def test_tallies_together_are_the_tally_of_all(first, second, shift, scale):
    first, second = ([shift + scale * reward for reward in rewards] for rewards in (first, second))
    both = tally_of(first).merged(tally_of(second))
    size = max(map(abs, first + second))
    assert both.n == len(first) + len(second)
    assert both.mean == pytest.approx(statistics.fmean(first + second), rel=1e-12, abs=1e-12 * size)
    assert math.sqrt(both.variance) == pytest.approx(
        np.std(np.array(first + second) - both.mean, ddof=1) if both.n > 1 else 0.0, rel=1e-6, abs=1e-12 * size
    )


@pytest.mark.parametrize("shift", [0.0, 1e12])
def test_intervals_of_tallies_are_those_of_the_samples(shift):
    rng = np.random.default_rng(0)
    first, second = shift + rng.gamma(2.0, size=40), shift + rng.normal(size=15)
    one, two = tally_of(first.tolist()), tally_of(second.tolist())
    room = 1e-9 + 1e-15 * shift
    bound = student_t(first, 0.05, side="two-sided", check=False)
    assert student_interval(one, 0.05) == pytest.approx(bound.value, abs=10 * room)
    welch = difference(first, second, check=False).value
    assert welch_interval(one, two, 0.05) == pytest.approx(welch, abs=1e-3 if shift else 1e-9)


def test_rewards_that_do_not_vary_have_no_interval():
    same = tally_of([2.0, 2.0, 2.0])
    assert student_interval(same, 0.05) is None
    assert student_interval(tally_of([2.0]), 0.05) is None
    assert welch_interval(same, same, 0.05) is None
    assert welch_interval(same, tally_of([1.0]), 0.05) is None
    assert welch_interval(same, tally_of([1.0, 3.0]), 0.05) is not None


# --- against the twin ---------------------------------------------------------------------------------------------------

WORLDS = {
    "on arrival": {},
    "on arrival, window": {"window": "2h"},
    "default": {"window": "2h", "default_reward": 0.5},
    "last": {"window": "2h", "aggregate": "last"},
    "sum": {"window": "2h", "aggregate": "sum", "default_reward": 0.0},
    "shadow": {"mode": "shadow"},
}


def play(experiment, seed, hours=40):
    """Traffic of some days: units that come again, deferred decisions, several rewards, late ones, none, and changes."""
    rng = np.random.default_rng(seed)
    rewards = []  # (when, decision, value, key)
    for hour in range(hours):
        at(experiment, START + 3600 * hour)
        units, names = [f"u{i}" for i in rng.integers(40, size=4)], [f"{hour}-{i}" for i in range(4)]
        for decision in experiment.decide_many(units, keys=names):
            keys = ("a", "b")[: rng.integers(3)]
            rewards += [(hour + rng.exponential(1.5), decision.id, float(rng.normal(10, 2)), key) for key in keys]
        (deferred,) = experiment.decide_many(keys=[f"{hour} later"], defer=True)
        rewards.append((hour + 0.5, deferred.id, 3.0, None))
        if rng.random() < 0.6:
            experiment.activate(deferred.id)
        for when, decision, value, key in sorted(rewards):
            if when < hour + 1:
                at(experiment, START + 3600 * when)
                experiment.reward(decision, value, key)
        rewards = [each for each in rewards if each[0] >= hour + 1]
        if hour == 12:
            experiment.pause("blue", actor="anna")
        if hour == 15:
            experiment.change(holdout=0.4, actor="ben")
        if hour == 25:
            experiment.resume("blue", actor="anna")
        if hour in (5, 18, 29, 33):
            experiment.status()  # which keeps what was counted until then
        if hour in (20, 30, 38):  # one that was learned, one of whoever it is, one that is open
            experiment.void(experiment.decide(key=f"{hour - hour % 8}-1").id)
    for i, decision in enumerate(experiment.decide_many(keys=[f"last {i}" for i in range(20)], defer=True)):
        if i % 2:
            experiment.activate(decision.id)
    at(experiment, START + 3600 * (hours + 0.25))


@telling("world", WORLDS, ["on arrival", "sum"])
def test_what_the_database_counts_is_what_the_rows_say(either, world):
    with begin(either, holdout=0.3, control="green", **WORLDS[world]) as experiment:
        play(experiment, seed=11)
        with live.create(either, "another", policy="ucb1", arms=ARMS, seed=1, holdout=0.5, control="red") as other:
            for day in range(3):
                decisions = other.decide_many(keys=[f"{day}-{i}" for i in range(200)])
                other.reward_many([(decision.id, 1e6) for decision in decisions[::2]])
                other.refresh()
        status = experiment.status()
        now = status.now
        expected = naive_counts(experiment, now, DAY, RECENT)
        assert status.decisions == expected["by_source"]
        assert set(status.decisions) == {"holdout", "shadow" if world == "shadow" else "policy"}
        parts = "open", "unanswered", "defaults", "voided"
        assert [getattr(status, part) for part in parts] == [expected[part] for part in parts]
        assert status.voided == 3
        assert status.open > 0
        assert (status.unanswered > 0) == (world in ("on arrival, window", "last"))
        assert status.learned == sum(map(len, expected["learned"].values()))
        for arm, each in enumerate(status.arms):
            learned = expected["learned"].get(arm, [])
            assert each.decisions == expected["served"][arm]
            assert each.share_of_day == expected["of_day"][arm] / expected["of_day"].total()
            assert each.share_of_recent == expected["recent"][arm] / expected["recent"].total()
            assert each.n_rewards == len(learned) == experiment.state.rewards[arm]
            assert sum(status.history.chosen[each.label]) == expected["chosen"][arm]
            if learned:
                assert each.mean == pytest.approx(statistics.fmean(learned), rel=1e-12)
                interval = naive_interval(learned)
                assert (each.lower is None) == (interval is None)
                if interval is not None:
                    assert (each.lower, each.upper) == pytest.approx(interval, rel=1e-9)
        few = naive_counts(experiment, now, DAY, 30)["recent"]
        assert counting.count_recent(experiment.store, experiment.row.id, 30) == few
        *_, period = periods_of(experiment.definition, experiment.store.changes(experiment.row.id), 0.0)
        since = status.lift.since
        assert period.since == since > 0
        units, held = naive_units(experiment, since)
        assert (status.lift.units, status.lift.holdout_units) == (len(units), len(held))
        assert (status.lift.mean, status.lift.holdout_mean) == pytest.approx(
            (statistics.fmean(units), statistics.fmean(held)), rel=1e-12
        )
        welch = stats.ttest_ind(units, held, equal_var=False).confidence_interval(1 - ALPHA)
        assert (status.lift.lower, status.lift.upper) == pytest.approx(tuple(welch), rel=1e-9)
        lags = [
            received - decided
            for received, decided in experiment.store.ask(
                "SELECT r.received_at, d.decided_at FROM live_reward r JOIN live_decision d ON d.number = r.decision"
                " WHERE r.experiment = ?",
                experiment.row.id,
            )
        ]
        assert status.lag.rewards == status.rewards == len(lags)
        for share, found in (
            (0.5, status.lag.median),
            (0.9, status.lag.q90),
            (0.99, status.lag.q99),
            (1, status.lag.longest),
        ):
            assert found == naive_quantile(lags, share)
        assert status.lag.quantiles == tuple(naive_quantile(lags, k / 100) for k in range(1, 101))


def test_stretches_of_time_hold_what_was_chosen_learned_and_compared_in_them(target):
    with begin(target, holdout=0.3, control="green") as experiment:
        play(experiment, seed=3)
        status = experiment.status()
        history = status.history
        length, count = history.ends[1] - history.ends[0], len(history.ends)
        start = history.ends[0] - length
        assert np.array_equal(history.ends, start + length * np.arange(1, count + 1))
        assert start <= START < history.ends[0]
        assert history.ends[-2] <= status.now < history.ends[-1]
        assert (math.log2(length) % 1, start % length, count <= counting.STRETCHES < 2 * count) == (0.0, 0.0, True)
        ask = experiment.store.ask
        for arm, label in enumerate(ARMS):
            decided = [
                time for (time,) in ask("SELECT decided_at FROM live_decision WHERE source = 'policy' AND arm = ?", arm)
            ]
            counts = np.bincount([int((time - start) / length) for time in decided], minlength=count)
            assert list(history.chosen[label]) == counts.tolist()
            rows = ask("SELECT at, reward FROM live_learned WHERE arm = ? AND kind = 'reward' ORDER BY seq", arm)
            curve = history.running_mean(label, ALPHA)
            for stretch, end in enumerate(history.ends):
                so_far = [reward for time, reward in rows if time < end]
                expected = statistics.fmean(so_far) if so_far else math.nan
                assert curve[stretch, 0] == pytest.approx(expected, nan_ok=True)
                assert tuple(curve[stretch, 1:]) == pytest.approx(
                    naive_interval(so_far) or (math.nan,) * 2, nan_ok=True
                )
        shares = sum(history.shares([label]) for label in ARMS)
        assert np.nanmin(shares) == pytest.approx(1.0)
        last = history.running_lift(ALPHA)[-1]
        assert tuple(last) == pytest.approx((status.lift.difference, status.lift.lower, status.lift.upper))


# --- what is kept of the counting ---------------------------------------------------------------------------------------


def counted_anew(experiment):
    """The status, and how many of its decisions were counted by it and not before."""
    keeper = CountKeeper(experiment.store, experiment.row.id, experiment.build.id)
    experiment._count_keeper = keeper
    before = keeper.stored(experiment.state)
    n_before = 0 if before is None else before.by_source.total()
    found = experiment.status()
    return found, sum(found.decisions.values()) - n_before


def same(first, second):
    """Whether two are the same but for how sums were rounded."""
    one, two = ({**each.to_dict(), "snapshot": None, "arms": None} for each in (first, second))
    assert one == two
    assert [arm.label for arm in first.arms] == [arm.label for arm in second.arms]
    for arm, other in zip(first.arms, second.arms, strict=True):
        for name, value in dataclasses.asdict(arm).items():
            assert value == (pytest.approx(getattr(other, name), rel=1e-9) if name in ROUNDED else getattr(other, name))
        assert list(first.history.chosen[arm.label]) == list(second.history.chosen[arm.label])
    assert list(first.history.ends) == list(second.history.ends)
    return True


ROUNDED = "mean", "lower", "upper"


def grown(target, monkeypatch, **options):
    """An experiment whose workers have kept what they counted, and what it was like before they did."""
    monkeypatch.setattr(counters, "is_due", lambda version, last: version > last)
    experiment = begin(target, **options)
    rng = np.random.default_rng(4)
    for hour in range(6):
        at(experiment, START + 3600 * hour)
        made = experiment.decide_many(keys=[f"{hour}-{i}" for i in range(30)], defer=hour == 2)
        experiment.reward_many([(decision.id, float(rng.normal())) for decision in made[::2]])
        experiment.status()
    at(experiment, START + 3600 * 5.5)
    return experiment


def test_of_decisions_that_were_counted_only_the_new_ones_are_counted_again(target, monkeypatch):
    with grown(target, monkeypatch, window="2h") as experiment:
        found, n_new = counted_anew(experiment)
        assert n_new == 30  # those of the last hour, which were too young to be final at the last look
        experiment.store.ask("DELETE FROM live_snapshot")
        anew, n_new = counted_anew(experiment)
        assert n_new == 180
        assert same(found, anew)
        assert found.open == naive_counts(experiment, found.now, DAY, RECENT)["open"]


def test_who_has_just_come_does_not_count_what_another_worker_has(target, monkeypatch):
    with grown(target, monkeypatch) as experiment:
        experiment.status()
        keeper = CountKeeper(experiment.store, experiment.row.id, experiment.build.id)
        monkeypatch.setattr(keeper, "complete", lambda state: pytest.fail("counted"))
        keeper.keep_up(experiment.state)
        assert keeper.found.by_source.total() > 0


@pytest.mark.parametrize("wrong", ["void", "earlier", "checksum", "forged", "format", "words"])
def test_what_was_kept_and_no_longer_holds_is_counted_anew(target, monkeypatch, wrong):
    with grown(target, monkeypatch) as experiment:
        first, _ = counted_anew(experiment)
        build, version = counters.PREFIX + experiment.build.id, experiment.state.version
        stored = experiment.store.latest_snapshot(experiment.row.id, build)
        body, seal = stored.body, None
        if wrong == "void":
            experiment.void(experiment.decide(key="1-0").id)
        elif wrong == "earlier":  # a clock that was put back
            at(experiment, START + 100.0)
            experiment.decide(key="earlier")
            at(experiment, START + 3600 * 5.5)
        elif wrong == "checksum":
            body, seal = body.replace('"countable":', '"countable":1'), stored.checksum
        elif wrong == "forged":
            body = json.dumps({**json.loads(body), "chosen": [1, 2]})
        elif wrong == "format":
            body = json.dumps({**json.loads(body), "format": 0})
        else:
            body = "{}"
        if wrong not in ("void", "earlier"):
            seal = checksum(body) if seal is None else seal
            experiment.store.ask("DELETE FROM live_snapshot")
            experiment.store.save_snapshot(experiment.row.id, version, build, experiment.state.link, body, seal)
        found, n_new = counted_anew(experiment)
        if wrong not in ("void", "earlier"):
            assert n_new == 180
            assert same(found, first)
        experiment.store.ask("DELETE FROM live_snapshot")
        assert same(found, counted_anew(experiment)[0])


def test_counting_that_is_cut_short_counts_nothing_twice(target, monkeypatch):
    with grown(target, monkeypatch) as experiment:
        before, _ = counted_anew(experiment)
        ask = experiment.store.ask

        def fails(query, *parameters):
            if query == counting.LEARNED:
                raise StoreError("gone")
            return ask(query, *parameters)

        at(experiment, START + 3600 * 6)
        monkeypatch.setattr(experiment.store, "ask", fails)
        with pytest.raises(StoreError, match="gone"):
            experiment.status()
        monkeypatch.setattr(experiment.store, "ask", ask)
        at(experiment, START + 3600 * 5.5)
        assert same(experiment.status(), before)


def test_whoever_may_only_read_counts_all_of_it(tmp_path, monkeypatch):
    with grown(tmp_path / "shop.db", monkeypatch) as experiment:
        found, _ = counted_anew(experiment)
        monkeypatch.setattr(experiment.store, "save_snapshot", refuse)
        assert same(found, counted_anew(experiment)[0])


def refuse(*_):
    raise ReadOnly("no")


# --- edges --------------------------------------------------------------------------------------------------------------


def test_before_the_first_decision_and_before_the_first_reward(target):
    with begin(target, holdout=0.2, control="red") as experiment:
        status = experiment.status()
        assert (status.decisions, status.version, status.lag, status.lift, status.snapshot) == ({}, 0, None, None, None)
        assert [(arm.label, arm.state, arm.decisions, arm.share_of_day, arm.mean) for arm in status.arms] == [
            (label, "new", 0, None, None) for label in ARMS
        ]
        assert sum(arm.weight for arm in status.arms) == pytest.approx(1.0)
        assert status.history.ends.size == 0
        json.dumps(status.to_dict(), allow_nan=False)
        for i in range(20):
            experiment.decide(f"u{i}", key=f"k{i}")
        status = experiment.status()
        assert (status.open, status.learned, status.lift, status.lag) == (status.decisions["policy"], 0, None, None)


@pytest.mark.parametrize("window", [None, "1h"])
def test_what_waits_for_a_reward_is_counted_at_one_moment_while_others_decide(target, window, monkeypatch):
    with begin(target, window=window) as experiment, live.open(target, "checkout", durability="normal") as other:
        at(other, START)
        other.decide_many(keys=[f"before {i}" for i in range(10)])
        ask, asked = experiment.store.ask, []

        def overtaken(*question):
            """Between any two questions another worker decides: three times, one of them not to be shown yet."""
            n = len(asked)
            asked.append(question)
            other.decide_many(keys=[f"{n} {i}" for i in range(2)])
            other.decide(key=f"{n} later", defer=True)
            return ask(*question)

        monkeypatch.setattr(experiment.store, "ask", overtaken)
        status = experiment.status()
        assert len(asked) > 5
        assert status.unanswered == 0
        assert (status.open - 10) % 2 == 0
        assert 10 < status.open <= 10 + 2 * len(asked)


def test_what_the_holdout_earns_is_settled_by_the_rule_of_the_log(target):
    """A sum that is rounded once: 1, where the database's own sum of doubles may be 0."""
    with begin(target, window="1h", aggregate="sum", holdout=0.5, control="red") as experiment:
        decisions = experiment.decide_many([f"u{i}" for i in range(40)])
        for value, key in ((1e16, "a"), (1.0, "b"), (-1e16, "c")):
            experiment.reward_many([(decision.id, value, key) for decision in decisions])
        at(experiment, START + 3600)
        lift = experiment.status().lift
        assert (lift.mean, lift.holdout_mean) == (1.0, 1.0)
        assert lift.units + lift.holdout_units == 40
        assert lift.holdout_units > 5


def test_equal_rewards_show_no_spread_and_huge_ones_keep_theirs(target):
    with begin(target, policy="epsilon_greedy", arms=["same", "huge"], holdout=0.0, floor=0.1) as experiment:
        rng = np.random.default_rng(0)
        huge = []
        for decision in experiment.decide_many(keys=[str(i) for i in range(200)]):
            value = 5.0
            if decision.arm == "huge":
                value = 1e12 + float(rng.integers(-9, 10))
                huge.append(value)
            experiment.reward(decision.id, value)
        same, large = experiment.status().arms
        assert (same.mean, same.lower, same.upper) == (5.0, None, None)
        exact = [value - 1e12 for value in huge]
        assert large.mean - 1e12 == pytest.approx(statistics.fmean(exact), abs=1e-3)
        half = (large.upper - large.lower) / 2
        low, high = naive_interval(exact)
        assert half == pytest.approx((high - low) / 2, abs=1e-3)


def test_rewards_of_a_known_range_have_intervals_that_hold_at_all_times(target):
    with begin(target, policy="bernoulli_ts") as experiment:
        rng = np.random.default_rng(1)
        for decision in experiment.decide_many(keys=[str(i) for i in range(150)]):
            experiment.reward(decision.id, float(rng.random() < 0.3))
        status = experiment.status()
        assert status.interval.method == "betting"
        assert "at all times together" in status.interval.promise
        for arm, each in enumerate(status.arms):
            rewards = [
                entry.reward for entry in experiment.store.entries(experiment.row.id, 0, 1000) if entry.arm == arm
            ]
            expected = betting(rewards, ALPHA, side="two-sided", support=(0.0, 1.0), in_order=True)
            assert (each.lower, each.upper) == expected.value


def test_the_time_uniform_interval_survives_a_policy_that_stops_on_bad_luck():
    """An arm is dropped once its interval lies below the truth, as a policy may do; the interval of then is shown.

    300 arms, each missed with a probability of at most 0.05: more than 27 misses come about with a probability below
    0.001. Student's interval is missed more often than that, which is why it is called nominal.
    """
    rng = np.random.default_rng(5)
    intervals = {
        "shown": lambda rewards: betting_interval(rewards, (0.0, 1.0)),
        "student": lambda rewards: student_interval(tally_of(rewards.tolist()), ALPHA),
    }
    missed = dict.fromkeys(intervals, 0)
    for _ in range(300):
        rewards = (rng.random(100) < 0.3).astype(float)
        for name, interval_of in intervals.items():
            found = (interval_of(rewards[:n]) for n in range(10, 101, 5))
            missed[name] += any(interval is not None and interval[1] < 0.3 for interval in found)
    assert missed["shown"] <= 27
    assert missed["student"] > 27


def test_actions_of_linear_policies_are_known_by_their_place(target):
    with begin(target, policy="lin_ucb:dimension=2", arms=None, burn_in=None, holdout=0.3, control=1) as experiment:
        rng = np.random.default_rng(2)
        for i in range(40):
            decision = experiment.decide(f"u{i}", key=f"k{i}", actions=[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
            experiment.reward(decision.id, float(rng.normal(decision.arm)))
        status = experiment.status()
        assert status.is_linear
        assert [arm.label for arm in status.arms] == [str(place) for place in range(len(status.arms))]
        assert sum(arm.decisions for arm in status.arms) == status.decisions["policy"]
        assert all(arm.weight is None and arm.index is None for arm in status.arms)
        assert status.lift is not None


def test_states_of_arms_and_the_trail_of_changes(target):
    with begin(target, control="red", holdout=0.1) as experiment:
        experiment.pause("blue", actor="anna")
        experiment.change(mode="shadow", floor=0.05, actor="ben")
        status = experiment.status()
        assert [arm.state for arm in status.arms] == ["new", "new", "paused"]
        assert status.arms[2].weight == 0.0
        assert [(change.seq, change.actor, change.what) for change in status.changes] == [
            (2, "ben", "mode = shadow, floor = 0.05"),
            (1, "anna", "arm blue paused"),
        ]
        assert (status.mode, status.settings["floor"]) == ("shadow", 0.05)


@pytest.mark.parametrize(("direction", "index_is"), [("max", "upper bound"), ("min", "lower bound")])
def test_the_index_is_what_the_policys_own_table_has(target, direction, index_is):
    with begin(target, direction=direction) as experiment:
        for i, decision in enumerate(experiment.decide_many(keys=[str(i) for i in range(30)])):
            experiment.reward(decision.id, float(i))
        status = experiment.status()
        assert status.index_is == index_is
        rows = experiment.state.policy.table()
        assert [arm.index for arm in status.arms] == [row.index for row in rows]
        assert [(arm.n_rewards, arm.mean) for arm in status.arms] == [
            (row.pulls, pytest.approx(row.mean)) for row in rows
        ]
        # Beyond the mean, in the direction that the policy hopes for.
        assert all((arm.index > arm.mean) == (direction == "max") for arm in status.arms)


def test_an_infinite_index_is_told_and_null_in_json(target):
    with begin(target, policy="mars", burn_in=1) as experiment:
        for decision in experiment.decide_many(keys=[str(i) for i in range(12)]):
            experiment.reward(decision.id, 1.0)
        status = experiment.status()
        assert math.inf in [arm.index for arm in status.arms]
        found = json.loads(json.dumps(status.to_dict(), allow_nan=False))
        assert [arm["index"] is None for arm in found["arms"]] == [not math.isfinite(arm.index) for arm in status.arms]
        assert "history" not in found


def test_arms_that_are_new_or_gone_are_listed_with_the_others(target):
    with begin(target, burn_in=3) as experiment:
        for decision in experiment.decide_many(keys=[str(i) for i in range(40)]):
            experiment.reward(decision.id, 1.0)
        experiment.add_arm("teal")
        experiment.retire("green")
        status = experiment.status()
        assert [(arm.label, arm.state) for arm in status.arms] == [
            ("red", "active"),
            ("green", "retired"),
            ("blue", "active"),
            ("teal", "new"),
        ]
        red, green, blue, teal = status.arms
        assert green.weight == 0.0
        assert green.n_rewards > 0
        assert 0 < teal.weight <= 0.1 + 1e-12
        assert red.weight + blue.weight + teal.weight == pytest.approx(1.0)
        assert (teal.decisions, teal.mean, teal.index) == (0, None, None)


def test_groups_are_compared_within_periods_in_which_they_are_served_the_same_way(tmp_path):
    def change(seq, kind, **body):
        return Change(seq, 10.0 * seq, "anna", kind, json.dumps(body))

    with begin(tmp_path / "shop.db", control="red") as experiment:
        definition = experiment.definition
    changes = [change(3, "settings", holdout=0.1), change(9, "pause", arm="control"), change(12, "settings", floor=0.1)]
    assert periods_of(definition, [], 0.0) == []
    assert periods_of(definition, changes, 0.0) == [(3, None, 30.0, None, "live", "red")]
    changes += [change(20, "settings", floor=0.2, mode="shadow"), change(22, "settings", holdout=0.0)]
    changes += [change(25, "finish", arm="blue", holdout=0.2), change(28, "archive")]
    expected = [
        (3, 20, 30.0, 200.0, "live", "red"),
        (20, 22, 200.0, 220.0, "shadow", "red"),
        (25, None, 250.0, None, "finished", "red"),
    ]
    assert periods_of(definition, changes, 0.0) == expected


def test_the_end_of_an_experiment_keeps_what_it_earned_and_what_was_learned(target):
    def visit(experiment, word, n):
        decisions = experiment.decide_many([f"{word} {i}" for i in range(n)], keys=[f"{word} {i}" for i in range(n)])
        rates = {"red": 0.2, "green": 0.6, "blue": 0.3}
        draws = np.random.default_rng(n).random(n)
        experiment.reward_many(
            [(each.id, float(u < rates[each.arm])) for each, u in zip(decisions, draws, strict=True)]
        )
        return decisions

    with begin(target, holdout=0.2, control="red") as experiment:
        visit(experiment, "early", 300)
        first, shown = experiment.status().lift, experiment.readout().to_dict()
        assert first.until is None
        experiment.change(mode="shadow")
        found = experiment.status()
        assert found.lift == dataclasses.replace(first, until=experiment.state.version, ended=START)
        assert f"live, control red, from version 0 to {found.lift.until}" in str(found)
        assert found.interval.promise in str(found)
        experiment.change(control="green")
        assert experiment.status().lift == found.lift
        experiment.change(control="red")
        assert experiment.finish(ship="green", holdout=0.1).version == experiment.state.version
        decisions = visit(experiment, "late", 200)
        assert {each.arm for each in decisions if each.source != "holdout"} == {"green"}
        assert {each.source: each.propensity for each in decisions} == {"holdout": 1.0, "shipped": 1.0}
        status = experiment.status()
        assert (status.mode, status.shipped, status.lift.mode) == ("finished", "green", "finished")
        assert [lift.mode for lift in status.lifts] == ["live", "finished"]
        assert status.lift.units + status.lift.holdout_units == 200
        later = experiment.readout().to_dict()
        assert later["notes"][0].startswith("'green' is served to all since version")
        assert {**later, "notes": []} == {**shown, "notes": []}
        for wrong, word in (
            (lambda: experiment.finish(ship="teal"), "ship"),
            (lambda: experiment.finish(ship="red", holdout=1.0), "holdout"),
            (lambda: experiment.pause("green"), "served to all"),
            (lambda: experiment.decide(available=["red", "blue"]), "served to all"),
        ):
            with pytest.raises(InvalidInput, match=word):
                wrong()
        experiment.archive()
        for refused in (lambda: experiment.decide("u"), lambda: experiment.change(floor=0.1)):
            with pytest.raises(InvalidInput, match="archived"):
                refused()
        assert experiment.decide("late 7", key="late 7") == decisions[7]
        assert str(live.overview(target)[0]) == "checkout: 'green' is served to all, archived"
        with live.open(target, "checkout") as other:  # whoever reads all of the log comes to the same end
            assert (other.state.shipped, other.state.mode) == ("green", "archived")
            body = write_snapshot(other.state)
            assert body == write_snapshot(experiment.state)
        experiment.change(mode="live")
        assert experiment.decide("again").source in ("policy", "holdout")
        assert live.overview(target)[0] == ("checkout", None, False, None)
        assert experiment.replay().is_identical


def test_a_snapshot_is_tried_out(target):
    with begin(target) as experiment:
        for decision in experiment.decide_many(keys=list("abcde")):
            experiment.reward(decision.id, 1.0)
        experiment.refresh()
        body, ours = write_snapshot(experiment.state), experiment.build.id

        def save(version, build, body, seal):
            experiment.store.save_snapshot(experiment.row.id, version, build, experiment.state.link, body, seal)
            return experiment.status().snapshot

        found = save(5, ours, body, checksum(body))
        assert (found.version, found.is_good, found.trouble) == (5, True, None)
        assert save(5, ours, body + " ", checksum(body)).trouble == "damaged, and made again from the log"
        experiment.pause("red")
        later = write_snapshot(experiment.state)
        found = save(6, "another", later, checksum(later))
        assert (found.version, found.is_good, found.trouble) == (6, False, "of another build, and not used by this one")


def test_an_empty_history_has_nothing_to_draw():
    history = CountHistory.empty()
    assert history.ends.size == 0
    assert history.running_lift(ALPHA).size == 0
