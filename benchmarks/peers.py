"""Beside other libraries: speed of a decision, regret in five public environments, coverage of intervals on a mean.

``python -m benchmarks peers`` measures all in one run; who cannot be imported is named with the reason. Each policy is
used as its own documentation does, with its defaults where it has any. All policies meet the same rewards.
"""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import numpy as np

from bandstrap.basics.text import shortened
from benchmarks.document import Row, Table

ROUNDS, RUNS, SEED = 1000, 20, 2019
SAMPLES = 500  # of each coverage
ALPHA = 0.05

Step = tuple[Callable[[], int], Callable[[int, float], None]]


class Peer(NamedTuple):
    """A policy of some library: ``make`` gives functions that choose an arm and that learn its reward.

    ``binary`` says that it takes rewards of 0 and 1 alone; one that is ``slow`` plays no game.
    """

    name: str
    package: str
    make: Callable[[int, int], Step]
    binary: bool = False
    slow: bool = False


# --- policies -----------------------------------------------------------------------------------------------------------


def ours(name: str) -> Callable[[int, int], Step]:
    """One of this library."""

    def make(n_arms: int, seed: int) -> Step:
        import bandstrap

        policy = getattr(bandstrap, name)(arms=n_arms, rng=seed)
        return policy.select, policy.update

    return make


def river(name: str, **options: float) -> Callable[[int, int], Step]:
    """One of river, which draws by itself; its Thompson sampling is for rewards of 0 and 1 (a Beta prior)."""

    def make(n_arms: int, seed: int) -> Step:
        from river import bandit, proba

        chosen = {"reward_obj": proba.Beta()} if name == "ThompsonSampling" else options
        policy = getattr(bandit, name)(**chosen, seed=seed)
        arms = list(range(n_arms))
        return lambda: policy.pull(arms), policy.update

    return make


def mabwiser(n_arms: int, seed: int) -> Step:
    """MABWiser's UCB1, which wants to be fitted before it predicts: each arm once, as rewards come."""
    from mabwiser.mab import MAB, LearningPolicy

    policy = MAB(list(range(n_arms)), LearningPolicy.UCB1(alpha=1.0), seed=seed)
    first: list[tuple[int, float]] = []

    def choose() -> int:
        return len(first) if len(first) < n_arms else policy.predict()

    def learn(arm: int, reward: float) -> None:
        if len(first) < n_arms:
            first.append((arm, reward))
            if len(first) == n_arms:
                policy.fit([arm for arm, _ in first], [reward for _, reward in first])
        else:
            policy.partial_fit([arm], [reward])

    return choose, learn


def obp(n_arms: int, seed: int) -> Step:
    """Thompson sampling of Open Bandit Pipeline."""
    from obp.policy import BernoulliTS

    policy = BernoulliTS(n_actions=n_arms, random_state=seed)
    return lambda: int(policy.select_action()[0]), policy.update_params


def vowpal_wabbit(n_arms: int, seed: int) -> Step:
    """SquareCB of Vowpal Wabbit, without features; the arm is drawn from the probabilities it predicts."""
    import vowpalwabbit

    workspace = vowpalwabbit.Workspace(f"--cb_explore {n_arms} --squarecb --quiet --random_seed {seed}")
    rng = np.random.default_rng(seed)
    chance = 1.0

    def choose() -> int:
        nonlocal chance
        weights = workspace.predict("| constant")
        arm = min(int(np.searchsorted(np.cumsum(weights), rng.random() * sum(weights), side="right")), n_arms - 1)
        chance = weights[arm]
        return arm

    def learn(arm: int, reward: float) -> None:
        workspace.learn(f"{arm + 1}:{-reward}:{chance} | constant")

    return choose, learn


def coba(n_arms: int, seed: int) -> Step:
    """The bandit learner of coba, UCB1-Tuned."""
    from coba import BanditUCBLearner

    policy = BanditUCBLearner(seed)
    arms = list(range(n_arms))
    return lambda: policy.predict(None, arms)[0], lambda arm, reward: policy.learn(None, arm, reward, 1.0)


def contextualbandits(n_arms: int, seed: int) -> Step:
    """BootstrappedUCB of contextualbandits around an online logistic regression, with a constant for a feature."""
    from contextualbandits.online import BootstrappedUCB
    from sklearn.linear_model import SGDClassifier

    base = SGDClassifier(loss="log_loss", random_state=seed + 1)
    policy = BootstrappedUCB(base, n_arms, batch_train=True, random_state=seed + 1, njobs_arms=1, njobs_samples=1)
    row = np.ones((1, 1))
    n = 0

    def choose() -> int:
        return n % n_arms if n < 2 * n_arms else int(policy.predict(row)[0])

    def learn(arm: int, reward: float) -> None:
        nonlocal n
        n += 1
        policy.partial_fit(row, np.array([arm]), np.array([reward]))

    return choose, learn


def smpybandits(n_arms: int, seed: int) -> Step:
    """KL-UCB of SMPyBandits."""
    from SMPyBandits.Policies import klUCB

    policy = klUCB(n_arms)
    policy.startGame()
    return policy.choice, policy.getReward


POLICIES = [
    Peer("EdgeworthUCB", "bandstrap", ours("EdgeworthUCB")),
    Peer("UCB1", "bandstrap", ours("UCB1")),
    Peer("BernoulliTS", "bandstrap", ours("BernoulliTS"), binary=True),
    Peer("UCB(delta=1)", "river", river("UCB", delta=1)),
    Peer("ThompsonSampling", "river", river("ThompsonSampling"), binary=True),
    Peer("UCB1(alpha=1)", "mabwiser", mabwiser),
    Peer("BernoulliTS", "obp", obp, binary=True),
    Peer("SquareCB", "vowpalwabbit", vowpal_wabbit),
    Peer("BanditUCBLearner", "coba", coba),
    Peer("BootstrappedUCB", "contextualbandits", contextualbandits, binary=True, slow=True),
    Peer("klUCB", "SMPyBandits", smpybandits),
]

# Means of the arms, and what is drawn around them; those with a name are from that paper.
ENVIRONMENTS = {
    "Bernoulli 0.5 and nine of 0.4 (Chapelle and Li 2011)": ([0.5] + [0.4] * 9, "bernoulli"),
    "Bernoulli 0.1, 0.05, 0.02, 0.01 (Garivier and Cappe 2011)": (
        [0.1] + [0.05] * 3 + [0.02] * 3 + [0.01] * 3,
        "bernoulli",
    ),
    "Bernoulli 0.9 and 0.8 (Garivier and Cappe 2011)": ([0.9, 0.8], "bernoulli"),
    "Gaussian with means 1 and 0, variance 1": ([1.0, 0.0], "gaussian"),
    "exponential with means 1/5, 1/4, 1/3, 1/2 and 1": ([1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0], "exponential"),
}


def name_of(peer: Peer) -> str:
    """Library, version and policy."""
    try:
        return f"{peer.package} {version(peer.package)} {peer.name}"
    except PackageNotFoundError:
        return f"{peer.package} {peer.name}"


def attempt(peer: Peer, measure: Callable[[], Row]) -> Row:
    """A measurement, or the reason why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return measure()
    except Exception as error:  # noqa: BLE001 - whatever a library of others fails by is its row
        reason = " ".join(str(error).split()).partition(" (/")[0] or type(error).__name__  # no path of this machine
        return Row(f"{name_of(peer)} (skipped: {shortened(reason, 80)})", math.nan)


def speed(peer: Peer) -> Row:
    """Median microseconds of a decision and its reward, of 0 or 1 for five arms: the best of three games.

    By the clock of the thread, in which others who use the machine do not count.
    """
    first, last = (30, 50) if peer.slow else (300, 1300)
    rewards = (np.random.default_rng(SEED).random((last, 5)) < [0.1, 0.2, 0.3, 0.4, 0.5]).astype(float).tolist()
    medians = []
    for seed in range(1 if peer.slow else 3):
        choose, learn = peer.make(5, seed)
        times = []
        for row in rewards:
            start = time.thread_time_ns()
            arm = choose()
            learn(arm, row[arm])
            times.append(time.thread_time_ns() - start)
        medians.append(statistics.median(times[first:]) / 1e3)
    return Row(name_of(peer), min(medians), "us")


def draw(means: list[float], kind: str, rng: np.random.Generator) -> np.ndarray:
    """The rewards of a game, drawn before it."""
    shape = ROUNDS, len(means)
    if kind == "bernoulli":
        return (rng.random(shape) < means).astype(float)
    return np.array(means) * rng.exponential(size=shape) if kind == "exponential" else means + rng.normal(size=shape)


def regret(peer: Peer, means: list[float], kind: str) -> Row:
    """Mean pseudo-regret, with its standard error."""
    found = []
    for run in range(RUNS):
        rewards = draw(means, kind, np.random.default_rng([SEED, run])).tolist()
        choose, learn = peer.make(len(means), run)
        total = 0.0
        for row in rewards:
            arm = choose()
            learn(arm, row[arm])
            total += max(means) - means[arm]
        found.append(total)
    error = statistics.stdev(found) / math.sqrt(len(found))
    return Row(name_of(peer), statistics.mean(found), "", details={"standard error": error, "runs": len(found)})


# --- intervals ----------------------------------------------------------------------------------------------------------

Interval = Callable[[np.ndarray], tuple[float, float]]


def our_interval(name: str, **options: object) -> Callable[[], Interval]:
    """Two-sided, of this library."""

    def make() -> Interval:
        from bandstrap import bounds

        def interval(sample: np.ndarray) -> tuple[float, float]:
            bound = getattr(bounds, name)(sample, ALPHA, side="two-sided", check=False, **options)
            return float(bound.lower), float(bound.upper)

        return interval

    return make


def scipy_interval(method: str) -> Callable[[], Interval]:
    """SciPy's bootstrap."""

    def make() -> Interval:
        from scipy import stats

        def interval(sample: np.ndarray) -> tuple[float, float]:
            if np.ptp(sample) == 0:  # no interval of a constant sample
                return float(sample[0]), float(sample[0])
            found = stats.bootstrap((sample,), np.mean, method=method, n_resamples=999, rng=SEED, vectorized=True)
            return float(found.confidence_interval.low), float(found.confidence_interval.high)

        return interval

    return make


def coba_interval() -> Interval:
    """coba's Wilson interval."""
    from coba import BinomialCI

    wilson = BinomialCI("wilson")

    def interval(sample: np.ndarray) -> tuple[float, float]:
        point, (below, above) = wilson.point_interval([int(value) for value in sample])
        return point - below, point + above

    return interval


def obp_interval() -> Interval:
    """Percentile bootstrap of Open Bandit Pipeline."""
    from obp.utils import estimate_confidence_interval_by_bootstrap

    def interval(sample: np.ndarray) -> tuple[float, float]:
        found = estimate_confidence_interval_by_bootstrap(sample, ALPHA, 999, SEED)
        lower, upper = (float(value) for key, value in found.items() if "CI" in key)
        return lower, upper

    return interval


def confseq_interval() -> Interval:
    """The betting interval of confseq."""
    from confseq.betting import betting_ci

    return lambda sample: betting_ci(sample, alpha=ALPHA)


class IntervalPeer(NamedTuple):
    """A two-sided 95 % interval on a mean; ``kinds`` are the rewards it is for."""

    name: str
    package: str
    make: Callable[[], Interval]
    kinds: tuple[str, ...] = ("bernoulli", "gaussian", "exponential")


INTERVALS = [
    IntervalPeer("clopper_pearson", "bandstrap", our_interval("clopper_pearson"), ("bernoulli",)),
    IntervalPeer("mid_p", "bandstrap", our_interval("mid_p"), ("bernoulli",)),
    IntervalPeer("betting", "bandstrap", our_interval("betting", support=(0.0, 1.0)), ("bernoulli",)),
    IntervalPeer("sign_flip", "bandstrap", our_interval("sign_flip"), ("gaussian",)),
    IntervalPeer("student_t", "bandstrap", our_interval("student_t")),
    IntervalPeer("bootstrap_t", "bandstrap", our_interval("bootstrap_t")),
    IntervalPeer("bootstrap(BCa)", "scipy", scipy_interval("BCa")),
    IntervalPeer("bootstrap(percentile)", "scipy", scipy_interval("percentile")),
    IntervalPeer("BinomialCI(wilson)", "coba", coba_interval, ("bernoulli",)),
    IntervalPeer("estimate_confidence_interval_by_bootstrap", "obp", obp_interval),
    IntervalPeer("betting_ci", "confseq", confseq_interval, ("bernoulli",)),
]
SAMPLED = {"bernoulli": (0.1, 30), "gaussian": (0.0, 10), "exponential": (1.0, 30)}


def covered(peer: IntervalPeer, kind: str) -> Row:
    """Share of intervals that hold the mean, with their median width."""
    mean, n = SAMPLED[kind]
    interval = peer.make()
    rng = np.random.default_rng(SEED)
    hits, widths = 0, []
    for _ in range(SAMPLES):
        sample = {
            "bernoulli": lambda: (rng.random(n) < mean).astype(float),
            "gaussian": lambda: rng.normal(size=n),
            "exponential": lambda: rng.exponential(size=n),
        }[kind]()
        lower, upper = interval(sample)
        hits += lower <= mean <= upper
        widths.append(upper - lower)
    name = name_of(Peer(peer.name, peer.package, mabwiser))
    return Row(name, 100 * hits / SAMPLES, "%", details={"median width": float(np.median(widths))})


def tables() -> Iterator[Table]:
    """Speed, regret, coverage."""
    yield Table(
        "What does a decision with its reward cost? (five arms)", [attempt(p, lambda p=p: speed(p)) for p in POLICIES]
    )
    for name, (means, kind) in ENVIRONMENTS.items():
        peers = [p for p in POLICIES if not p.slow and (kind == "bernoulli" or not p.binary)]
        rows = [attempt(p, lambda p=p, means=means, kind=kind: regret(p, means, kind)) for p in peers]
        yield Table(f"Regret after {ROUNDS} rounds: {name}", rows)
    for kind, (mean, n) in SAMPLED.items():
        rows = [
            attempt(Peer(p.name, p.package, mabwiser), lambda p=p, kind=kind: covered(p, kind))
            for p in INTERVALS
            if kind in p.kinds
        ]
        yield Table(f"Coverage of 95 % intervals, {SAMPLES} samples of {n} {kind} rewards with mean {mean:g}", rows)
