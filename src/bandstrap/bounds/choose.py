"""Choice of a bound, by a rule on what is stated about the rewards and what the data show safely."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.bounds.bound import (
    SIDES,
    ZERO_OR_ONE,
    BoundOptions,
    Side,
    Support,
    check_level,
    check_support,
    fewest_rewards,
)
from bandstrap.bounds.resampling import N_RESAMPLES
from bandstrap.errors import check_choice, check_flag, check_number, check_sample, requirement

OWNER = "choose"
# So many resamples are to lie beyond the quantile.
BEYOND = 10
# More rewards than this are not drawn, which takes a second, and Hall's bound in closed form is taken. Where a small level
# asks for more resamples than usual, there are often many groups, and less is drawn for each.
MOST_DRAWN = 200_000_000
MOST_DRAWN_MORE = 2_000_000


@dataclass(frozen=True)
class Choice:
    """The bound that was chosen, and why.

    Attributes
    ----------
    method, options
        Name of the bound in ``bandstrap.bounds``, and its options.
    reason
        Reason for the choice, to be read after "because".
    guess
        Assumption that was neither stated nor observed, so that nothing is proved; ``None`` if there is none.
    """

    method: str
    options: BoundOptions = field(default_factory=dict)
    reason: str = ""
    guess: str | None = None


def choose(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    support: tuple[float, float] | None = None,
    sigma: float | None = None,
    symmetric: bool = False,
    column: ArrayLike | None = None,
) -> Choice:
    """Choose a bound for a sample by the stated properties of its rewards.

    ===================================  ==========================================  =======================================
    what is known                        bound                                       what is proved
    ===================================  ==========================================  =======================================
    rewards are 0 or 1, or the two ends  ``clopper_pearson``                         exact for two values
    of the support
    symmetric, and ``2^-n <= alpha``     ``sign_flip``                               exact for symmetric rewards
    a support                            ``betting``                                 proved for rewards in it
    a scale ``sigma``                    ``hoeffding``                               proved for sub-Gaussian rewards
    nothing                              ``bootstrap_t``, or where its resamples     nothing; for skewed rewards the miss
                                         would take long ``hall:quantile=normal``:   rate is nearer to ``alpha`` than that
                                         for more than 100,000 rewards, and for      of Student's t
                                         small levels such as those of many groups
    nothing, and few rewards: up to 3    ``student_t``                               nothing; normal rewards are a guess
    at a level of 0.05, 4 at 0.01
    ===================================  ==========================================  =======================================

    The first row that applies decides. The bound is finite, unless all rewards are equal, or so many that resamples
    without spread decide it.

    Parameters
    ----------
    sample
        Rewards of shape ``(n,)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The interval ``(low, high)`` the rewards lie in, if that is known.
    sigma
        A scale for which the rewards are sub-Gaussian, if one is known.
    symmetric
        True if the rewards are known to be symmetric about their mean.
    column
        All rewards measured in the same way, including those of other groups. A group of zeros counts as 0/1 data only
        if the other groups contain nothing but zeros and ones.

    Returns
    -------
    Choice
        The bound and its options, with the reason in one sentence.

    Notes
    -----
    A bound that is chosen by looking at the data may lose its guarantee. So symmetry, a support and a scale are never
    inferred from a sample. A symmetric-looking sample proves nothing, and the narrowest of several bounds misses more often
    than each. Only two features are read from the sample: the number of rewards, which is not random, and whether all are
    one of two values. If the rewards are 0 or 1 by nature, this feature is not random either, and nothing is lost. Suppose
    values between the ends of the support are possible. Let ``p`` and ``q`` be the probabilities of the upper and the lower
    end, and ``m`` the mean on the scale from 0 to 1 between them. Then ``p <= m`` and ``q <= 1 - m``. So
    ``P(no others, at most k at the upper end)`` is at most the binomial probability ``P_m(X <= k)``. So a miss from a
    sample without other values has probability at most ``alpha``. A miss by ``betting`` from a sample with other values
    also has probability at most ``alpha``. Together these are ``2 alpha``.

    A sample of zeros only, or of ones only, does not reveal its distribution. It is taken for 0/1 data, and ``guess``
    says so.

    Examples
    --------
    >>> from bandstrap.bounds import choose
    >>> choose([0, 1, 0, 0, 1], 0.05).method
    'clopper_pearson'
    >>> choose([0, 3, 1, 0, 2], 0.05, support=(0, 100))
    Choice(method='betting', options={'support': (0.0, 100.0)}, reason='rewards lie in [0, 100], as stated', guess=None)
    >>> choose([0, 3, 1, 0, 2], 0.05).method
    'bootstrap_t'
    """
    rewards = check_sample(sample, OWNER)
    if rewards.ndim != 1:
        raise requirement("sample", OWNER, "of one axis", f"shape {rewards.shape}")
    values = rewards if column is None else np.concatenate([rewards, check_sample(column, OWNER).ravel()])
    check_choice(side, "side", OWNER, SIDES)
    alpha = check_level(alpha, OWNER)
    level = alpha / 2 if side == "two-sided" else alpha
    ends = None if support is None else check_support(support, OWNER)
    if sigma is not None:
        sigma = check_number(sigma, "sigma", OWNER, above=0)
    is_symmetric = check_flag(symmetric, "symmetric", OWNER)

    if is_one_of(values, ends or ZERO_OR_ONE):
        return two_values(values, ends)
    if is_symmetric and rewards.size >= fewest_rewards(level):
        return Choice("sign_flip", {}, "rewards are symmetric about their mean, as stated")
    too_few = " (there are too few for a bound that needs only symmetry)" if is_symmetric else ""
    if ends is not None:
        return Choice("betting", {"support": ends}, f"rewards lie in [{ends[0]:g}, {ends[1]:g}], as stated{too_few}")
    if sigma is not None:
        return Choice("hoeffding", {"sigma": sigma}, f"rewards are sub-Gaussian of scale {sigma:g}, as stated{too_few}")
    return with_nothing_stated(rewards, values, level, is_symmetric=is_symmetric)


def is_one_of(values: Floats, ends: Support) -> bool:
    """Return whether all values are one of the two."""
    return bool(((values == ends[0]) | (values == ends[1])).all())


def two_values(values: Floats, ends: Support | None) -> Choice:
    """The exact bound, for rewards that are one of two numbers."""
    if ends is not None:
        seen = f"all rewards are {ends[0]:g} or {ends[1]:g}, the ends of the support"
        return Choice("clopper_pearson", {"support": ends}, f"{seen}, and it is exact if none in between are possible")
    if values.min() < values.max():
        return Choice("clopper_pearson", {}, "all rewards are 0 or 1, and it is exact if no others are possible")
    value = float(values[0])
    seen = f"all rewards are {value:g}"
    guess = (
        f"{seen}: assumed to be 0/1 data, since otherwise no finite bound exists; state the support 0 and 1 to make "
        "this a proof, or another support for another bound"
    )
    return Choice("clopper_pearson", {}, f"{seen}, and are taken for zeros and ones", guess)


def with_nothing_stated(rewards: Floats, values: Floats, level: float, *, is_symmetric: bool) -> Choice:
    """The bound for large samples, with plain words on what it cannot be; Student's t where it would be infinite."""
    n, low, high = rewards.size, float(values.min()), float(values.max())
    why = "no support, scale or symmetry is stated, and without any of them nothing can be proved at any sample size"
    if is_symmetric:
        why = f"{rewards_of(n)} too few for a bound that needs only symmetry, and no support or scale is stated"
    if n == 1:
        return Choice("bootstrap_t", {}, f"{why}: one reward cannot show how much rewards vary")
    if rewards.min() == rewards.max():
        return Choice("bootstrap_t", {}, f"{why}: rewards that are all {rewards[0]:g} cannot show how much they vary")
    few = f"{rewards_of(n)} too few for the bootstrap" if are_too_few(n, level) else ""
    if n > 2 and is_one_of(values, (low, high)):
        why += f"; stated as the support, {low:g} and {high:g} give an exact bound, if no others are possible"
    elif not few:
        why += "; for skewed rewards its miss rate is nearer to alpha than that of Student's t"
    if few:
        return Choice("student_t", {}, f"{why}; {few}", f"{few}, and normality is a guess")
    n_resamples = max(N_RESAMPLES, math.ceil(BEYOND / level) - 1)
    if n * n_resamples > (MOST_DRAWN if n_resamples == N_RESAMPLES else MOST_DRAWN_MORE):
        return Choice("hall", {"quantile": "normal"}, why)
    return Choice("bootstrap_t", {"n_resamples": n_resamples} if n_resamples > N_RESAMPLES else {}, why)


def rewards_of(n: int) -> str:
    """So many rewards, with the verb that follows."""
    return "one reward is" if n == 1 else f"{n} rewards are"


def are_too_few(n: int, level: float) -> bool:
    """Return whether resamples of one of ``n`` rewards alone, which have no spread, may decide on a bound at this
    level.

    Such a resample lies on one side of the mean with probability ``(n - 1) n^-n`` or less. The level is to be twice that,
    for the number of them that are drawn varies.

    >>> [n for n in range(2, 10) if are_too_few(n, 0.05)], [n for n in range(2, 10) if are_too_few(n, 0.01)]
    ([2, 3], [2, 3, 4])
    """
    return 2 * (n - 1) * float(n) ** -n >= level
