"""Buyers and browsers: an environment of one's own."""

import numpy as np

from bandstrap.environments import Environment
from bandstrap.errors import check_number


class Buyers(Environment):
    """A share of the visitors buys, for an exponential amount; the others pay nothing."""

    default_range = (0.5, 1.5)  # means are drawn from here, unless they are given

    def __init__(self, means=None, *, share=0.1, **options):
        self.share = check_number(share, "share", "Buyers", above=0, below=1)
        super().__init__(means, **options)

    def check_means(self, means):
        if (means <= 0).any():
            raise self.refused_means("positive", means)

    def draw_rewards(self, means, traits, n, rng):  # a row of n rewards for each mean
        shape = means.size, n
        amounts = rng.exponential(size=shape) * means[:, None] / self.share
        return np.where(rng.random(shape) < self.share, amounts, 0.0)

    @property
    def support(self):  # the interval all rewards lie in
        return 0.0, np.inf
