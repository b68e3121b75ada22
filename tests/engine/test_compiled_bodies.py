"""Functions that are written twice, for NumPy and for compiled loops: both give the same bits, and each says why."""

import copy
import importlib
import inspect
import pkgutil

import numpy as np

from bandstrap import bounds, engine, multipliers, policies
from bandstrap.engine.compiler import kernel
from bandstrap.engine.compiler.kernel import Entry
from bandstrap.multipliers.weights import EFRON, EXPONENTIAL, MAMMEN, RADEMACHER
from bandstrap.policies.linear.known_actions import record, start_known
from bandstrap.policies.linear.linear_bootstrapped_ucb import LinearBootstrappedUCB
from bandstrap.policies.linear.replicates import (
    Grouped,
    Observed,
    draw_weights,
    resample,
    start_factors,
    start_generators,
)
from sampling import telling

SAMPLES = 30
LAWS = (EFRON, EXPONENTIAL, MAMMEN, RADEMACHER)


def rows(rng):
    """Rewards up to 1 with ties, zeros of both signs and large ones, with room behind them that is not looked at."""
    for _ in range(SAMPLES):
        n = int(rng.integers(1, 60))
        y = np.where(rng.random(n) < 0.5, rng.choice([0.0, 1.0, -0.0, 0.5], n), 1.0 - rng.exponential(10.0, n) ** 2)
        yield np.append(y, np.full(rng.integers(0, 4), 1e9)), n


def over_rewards(*further):
    """Calls with a row and the number of its rewards, and with what ``further(rng)`` gives."""
    return lambda rng: ((room, n, *(each(rng, n) for each in further)) for room, n in rows(rng))


def fresh(rng, n):
    return np.random.default_rng(rng.integers(100))


def growths(rng):
    for room, n in rows(rng):
        mean = min(rng.uniform(-2, 2), 0.9)
        yield room[:n], mean, 0.5 / (1.0 - mean)


def kept(rng):
    for room, n in rows(rng):
        limits = np.abs(room) + 0.25
        for log in (rng.uniform(1e-3, 10), limits[rng.integers(n)]):  # the latter keeps one just so
            yield room, limits, n, float(log)


def observed(rng, d, n):
    """Observations of a few actions, as linear policies keep them."""
    actions = rng.integers(-1, 2, (6, d)) / 3
    X, y = actions[rng.integers(0, 6, n)], rng.normal(size=n)
    known = start_known(d, n + 7)
    labels = [record(known, x, float(reward)) for x, reward in zip(X, y, strict=True)]
    return known, Observed(np.array([n]), np.append(labels, [0, 0]).astype(np.int64), np.append(y, [0.0, 0.0]))


def found_actions(rng):
    for d, n in ((1, 1), (2, 30), (5, 80)):
        known, _ = observed(rng, d, n)
        yield known, known.features[known.size[0] - 1].copy()
        yield known, np.full(d, 0.5)


def regressions(rng):
    """Right triangles and actions."""
    for k, d in ((1, 1), (1, 5), (6, 1), (40, 3), (7, 20)):
        actions = rng.normal(size=(k, d))
        actions[0] = 0.0
        yield np.triu(rng.normal(size=(d, d))) + 3 * np.eye(d), actions


def factors(rng, d):
    made = start_factors(d, 11, 0.3)
    made += rng.random(made.shape) * (np.arange(d)[:, None] <= np.arange(d + 1))[..., None]
    return made


def upper(rng, *shape):
    """Triangles with a diagonal that is not small."""
    return np.triu(rng.normal(size=shape)) + 3.0 * np.eye(shape[-1])


def solved_contexts(rng):
    """Disjoint, shared and hybrid models, of which an arm or all are solved."""
    for size, d, p in ((1, 1, 0), (9, 9, 0), (5, 0, 2), (6, 6, 2)):
        n_arms, m = 3, p * size
        for first, last in ((0, n_arms), (1, 2)):
            yield (
                *(rng.normal(size=size), rng.normal(size=(n_arms, p))),
                np.concatenate([upper(rng, n_arms, d, d), rng.normal(size=(n_arms, d, m))], axis=2),
                rng.normal(size=(n_arms, d, 2)),
                *(upper(rng, m, m), rng.normal(size=(m, 2))),
                *(np.zeros((n_arms, d + m)), np.zeros(n_arms), np.zeros((n_arms, 2)), first, last),
            )


def rotated_rows(rng):
    for d, start in ((1, 0), (5, 0), (5, 3)):
        for row in (rng.normal(size=start + d), np.zeros(start + d)):
            yield upper(rng, d, d), rng.normal(size=(d, 2)), row, rng.normal(size=2), start


def rotations(rng):
    for d in (1, 3, 8):
        yield factors(rng, d), rng.normal(size=d), rng.normal(), np.sqrt(rng.poisson(1, 11))
        yield factors(rng, d), np.zeros(d), 0.0, np.sqrt(rng.poisson(1, 11))


def generators(rng):
    return start_generators(9, rng)


def drawn(rng):
    for n in (1, 2, 3, 10, 37, 300):
        own = generators(rng)
        yield draw_weights(n, rng.random(), own), own


def tallies(rng):
    for n in (1, 3, 40):
        starts = np.append(0, np.sort(rng.integers(0, n + 1, 3)))
        times, counts, sums = resample(n, generators(rng)), rng.random((3, 9)), rng.random((3, 9))
        yield Grouped(np.append(starts[:3], n), rng.normal(size=n)), times, counts, sums


def counted(rng):
    for d, n, ridge in ((1, 1, 1.0), (3, 40, 0.01), (8, 20, 100.0)):
        known, _ = observed(rng, d, n)
        counts = rng.poisson(1, (int(known.size[0]), 9)).astype(float)
        yield known, counts, counts * rng.normal(size=counts.shape), ridge


def resampled_choices(rng):
    policy = LinearBootstrappedUCB(n_resamples=40)
    params = policy.make_params(None)
    for n in (0, 1, 3, 25, 60):
        state = policy.start(3, n + 1, rng)
        for t in range(n):
            policy.kernel.learn(params, state, rng.integers(-1, 2, 3) / 3, rng.normal(), t + 1, rng)
        yield params, state, resample(n, state.generators), rng.normal(size=(5, 3)), n + 1


# Arguments of each function that is written twice, by module and name.
CASES = {
    "bounds.empirical_kl.dual": lambda rng: ((room[:n], 1.0, rng.uniform(1e-3, 10)) for room, n in rows(rng)),
    "bounds.empirical_kl.ascent": growths,
    "bounds.empirical_kl.log_growth": growths,
    "policies.kernels.draws.exponential_sums": over_rewards(fresh),
    "policies.kernels.draws.sum_of_draws": over_rewards(lambda rng, n: int(rng.choice([0, 1, n, n + 7])), fresh),
    "policies.rds.shortfalls": over_rewards(lambda rng, n: rng.uniform(-2, 2)),
    "policies.rmm_ucb.rmm_bound": over_rewards(
        lambda rng, n: int(rng.integers(1, n + 1)), lambda rng, n: int(rng.choice([1, 7, 5000])), fresh
    ),
    "policies.robust_ucb.influence": over_rewards(
        lambda rng, n: rng.uniform(1e-3, 10), lambda rng, n: rng.uniform(-2, 2)
    ),
    "policies.robust_ucb.kept_sum": kept,
    "policies.subsample_duels.shuffled_sum": over_rewards(lambda rng, n: int(rng.integers(0, n + 1)), fresh),
    "policies.contextual.triangles.rotate": rotated_rows,
    "policies.contextual.triangles.solve": solved_contexts,
    "policies.linear.known_actions.find_action": found_actions,
    "policies.linear.linear_bootstrapped_ucb.choice_of_resamples": resampled_choices,
    "policies.linear.linear_bootstrapped_ucb.number_from_the_top": lambda rng: (
        (rng.exponential(size=n).round(1), rank) for n in (1, 2, 20, 201) for rank in sorted({0, n // 2, n - 1})
    ),
    "policies.linear.multiplied.multipliers": lambda rng: ((law, 3000, fresh(rng, 0)) for law in LAWS),
    "policies.linear.replicates.complete": drawn,
    "policies.linear.replicates.distances": lambda rng: ((factors(rng, d), rng.normal(size=d)) for d in (1, 3, 8)),
    "policies.linear.replicates.draw_weights": lambda rng: (
        (n, rate, generators(rng)) for n in (0, 1, 7, 8, 100) for rate in (-0.5, 0.0, 0.3, 0.97)
    ),
    "policies.linear.replicates.factor_all": counted,
    "policies.linear.replicates.group": lambda rng: (observed(rng, 2, n) for n in (1, 40)),
    "policies.linear.replicates.next_words": lambda rng: (
        (generators(rng), np.empty(9, dtype=np.uint64)) for _ in range(9)
    ),
    "policies.linear.replicates.rotate_into_all": rotations,
    "policies.linear.replicates.tally": tallies,
    "policies.linear.ridge.norms": regressions,
}


def bits(value):
    """What tells values apart to the last bit, in arrays, tuples of them and generators of random numbers."""
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if value is None or isinstance(value, np.ndarray):
        return value if value is None else (value.dtype, value.shape, value.tobytes())
    return np.float64(value).tobytes()


def written_twice():
    """Those of the package, by module and name; all modules that may have some are imported."""
    for package in (bounds, engine, multipliers, policies):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    ours = {f: loops for f, loops in kernel._compiled_bodies.items() if f.__module__.startswith("bandstrap.")}
    return {f"{f.__module__}.{f.__name__}".removeprefix("bandstrap."): (f, loops) for f, loops in ours.items()}


def test_every_function_that_is_written_twice_is_compared_and_says_why():
    pairs = written_twice()
    assert pairs.keys() == CASES.keys()
    for plain, loops in pairs.values():
        assert inspect.signature(plain).parameters.keys() == inspect.signature(loops).parameters.keys()
        first = inspect.getdoc(loops).split("\n")[0]
        assert first.startswith(f":func:`{plain.__name__}`")
        assert ", because " in first, loops


@telling("name", CASES, lambda name: not name.endswith(".choice_of_resamples"))  # which takes long to compile
def test_both_give_the_same_bits_and_leave_the_same_behind(name):
    module, _, function = name.rpartition(".")
    plain = getattr(importlib.import_module(f"bandstrap.{module}"), function)
    compiled = Entry(plain).compiled
    n_cases = 0
    for arguments in CASES[name](np.random.default_rng(sum(map(ord, name)))):
        both = [copy.deepcopy(arguments) for _ in range(2)]
        found = [bits(call(*own)) for call, own in zip((plain, compiled), both, strict=True)]
        assert found[0] == found[1], arguments
        if function != "number_from_the_top":  # compiled, it reorders the lengths, which nobody reads again
            assert bits(tuple(both[0])) == bits(tuple(both[1])), arguments
        n_cases += 1
    assert n_cases > 0
