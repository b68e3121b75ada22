"""An index with an exploration term of c log t: a policy of one's own."""

import math
from typing import NamedTuple

from bandstrap.policies import Kernel, Policy, moments


class Params(NamedTuple):
    c: float


def prepare(params, state, round_):  # what all arms share in a round
    return params.c * math.log(round_)


def score(params, state, arm, shared, rng):  # the index of one arm; the highest is pulled
    return state.means[arm] + math.sqrt(shared / state.pulls[arm])


class Mine(Policy):
    kernel = Kernel("mine", prepare=prepare, score=score, learn=moments.learn)

    def __init__(self, *, c=2.0, **online):
        self.c = self.positive(c, "c")
        super().__init__(**online)

    def make_params(self, horizon):
        return Params(self.c)
