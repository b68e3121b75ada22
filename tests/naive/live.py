"""The weights of live arms, step by step in exact fractions, and the arm that a point of the line belongs to."""

from fractions import Fraction


def naive_shares(floor, burn_in, new_arm_share, n_initial, rewards, ask):
    """The weight of each arm, which have that many ``rewards``; ``ask(arms)`` gives the policy's weights among some."""
    floor, share = Fraction(floor), Fraction(new_arm_share)
    arms = range(len(rewards))
    established = [a for a in arms if rewards[a] >= burn_in and rewards[a] >= n_initial and rewards[a] >= 1]
    if not established:
        return [Fraction(1, len(rewards)) for _ in arms]
    cap = min(share, Fraction(1, len(rewards)))
    fit = [a for a in arms if rewards[a] >= n_initial and rewards[a] >= 1]
    wished = dict(zip(fit, map(Fraction, ask(fit)), strict=True))
    weights = {}
    for arm in arms:
        if arm not in established:
            weights[arm] = min(wished[arm], cap) if arm in fit else cap
    left = 1 - sum(weights.values())
    own = dict(zip(established, map(Fraction, ask(established)), strict=True))
    for arm in established:
        weights[arm] = left * own[arm]
    # Everybody's floor.
    weights = {arm: (1 - floor) * weight + floor / len(rewards) for arm, weight in weights.items()}
    # New arms that are now beyond their share give back what is too much.
    for arm in arms:
        if arm not in established and weights[arm] > cap:
            extra = weights[arm] - cap
            weights[arm] = cap
            for other in established:
                weights[other] += extra * own[other]
    return [weights[arm] for arm in arms]


def naive_arm(widths, point):
    """The arm whose piece of the line from 0 to 1 holds a point, one after the other."""
    start = Fraction(0)
    for arm, width in enumerate(widths):
        if start <= point < start + Fraction(width):
            return arm
        start += Fraction(width)
    raise AssertionError("the pieces end before 1")
