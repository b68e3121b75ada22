"""The weights of live arms, step by step in exact fractions, and the arm that a point of the line belongs to."""

import hashlib
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


def naive_point(seed, name, key):
    """Where a decision's key hits the line: the first 53 bits of SHA-256 of the three, each behind its kind and length."""
    text = b"".join(
        b"%b%d:%b" % (kind, len(data), data)
        for kind, data in ((b"i", str(seed).encode()), (b"s", name.encode()), (b"s", key.encode()))
    )
    bits = bin(int(hashlib.sha256(text).hexdigest(), 16))[2:].zfill(256)
    return Fraction(int(bits[:53], 2), 2**53)


def naive_decision(settings, name, key, log, available, make_policy):
    """The weights and the arm of a decision from the entries of the log before it, one after the other.

    The log has pairs ``(arm, reward)``; ``make_policy()`` is the policy before the first one.
    """
    policy = make_policy()
    rewards = [0] * len(settings.arms)
    for arm, reward in log:
        policy.update(settings.arms[arm], reward)
        rewards[arm] += 1
    there = [arm for arm in range(len(settings.arms)) if settings.arms[arm] in available]

    def ask(places):
        labels = [settings.arms[there[place]] for place in places]
        weights = policy.weights(available=labels)
        return [weights[label] for label in labels]

    told = (settings.floor, settings.burn_in, settings.new_arm_share, policy.n_initial)
    shares = naive_shares(*told, [rewards[arm] for arm in there], ask)
    weights = [Fraction(0)] * len(settings.arms)
    for arm, share in zip(there, shares, strict=True):
        weights[arm] = share
    return weights, naive_arm(weights, naive_point(settings.seed, name, key))
