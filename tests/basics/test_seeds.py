"""What is taken as randomness, and the sentence for what is not."""

import os

import numpy as np
import pytest

from bandstrap import UCB1, GaussianTS, bootstrap_quantile
from bandstrap.basics.seeds import make_generator
from bandstrap.bounds import bootstrap, sign_flip
from bandstrap.errors import InvalidInput
from bandstrap.policies.linear import LinearTS
from sampling import each

NO_SEEDS = [-1, 1.5, np.float64(2), "a", "3", b"a", True, [-1], [1.5], [[1]], {}, object(), np.timedelta64(3, "s")]
NO_SEEDS += [np.random.RandomState(0), np.array(["a"]), 1j, [True]]


@each("rng", NO_SEEDS, ids=lambda rng: f"{type(rng).__name__} {str(rng)[:12]}")
@each(
    ("owner", "use"),
    [
        ("UCB1", lambda rng: UCB1(arms=2, rng=rng)),
        ("LinearTS", lambda rng: LinearTS(rng=rng)),
        ("bootstrap", lambda rng: bootstrap([0.1, 0.9], 0.1, sigma=1, quantile="monte-carlo", seed=rng)),
        ("sign_flip", lambda rng: sign_flip([0.1, 0.9], 0.1, randomized=True, seed=rng)),
        ("bootstrap_quantile", lambda rng: bootstrap_quantile([0.1, 0.9], 0.1, method="monte-carlo", seed=rng)),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_is_no_seed_is_refused_with_a_sentence(rng, owner, use):
    name = "rng" if owner in ("UCB1", "LinearTS") else "seed"
    with pytest.raises(InvalidInput, match=rf"^The '{name}' parameter of {owner} must be a NumPy generator, .*\. Got "):
        use(rng)


@each("rng", [0, 10**400, np.uint8(7), [1, 2], (), np.array([3, 4]), np.random.SeedSequence(5)], ids=str)
def test_seeds_start_the_generator_that_numpy_starts(rng):
    assert make_generator(rng, "UCB1").random() == np.random.default_rng(rng).random()


def test_generators_are_used_as_they_are():
    generator, bits = np.random.default_rng(0), np.random.PCG64(1)
    assert make_generator(generator, "UCB1") is generator
    assert make_generator(bits, "UCB1").bit_generator is bits
    assert make_generator(None, "UCB1").random() != make_generator(None, "UCB1").random()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_children_of_a_fork_decide_alike_unless_each_has_a_seed_of_its_own(compiled):
    policy = GaussianTS(arms=8, rng=0, compiled=compiled)
    policy.update(range(8), [0.5] * 8)
    seeds = np.random.SeedSequence(7).spawn(2)

    def decisions(seed=None):
        """What a child decides: ten choices among eight equal arms."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if seed is not None:
                    policy.rng = np.random.default_rng(seed)
                os.write(writer, bytes(policy.select() for _ in range(10)))
            finally:
                os._exit(0)
        os.close(writer)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as answer:
            return answer.read()

    assert len(decisions()) == 10
    assert decisions() == decisions()
    assert decisions(seeds[0]) == decisions(seeds[0])
    assert decisions(seeds[0]) != decisions(seeds[1])  # alike with a probability of 8^-10
