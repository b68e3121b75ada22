"""Evidence from adaptive logs, written from the formulas: decision by decision, in decimals of fifty digits."""

from decimal import Decimal, localcontext

BETS = [Decimal("0.9") / 2**j for j in range(12)]
RAW_PRIOR = [1 / (1 + ((Decimal(j) - 2) / Decimal("1.5")) ** 2) for j in range(12)]


def priors():
    return [each / sum(RAW_PRIOR) for each in RAW_PRIOR]


def levels_of(rewards):
    """``r_1 = 1/2``, ``r_{i+1} = r_i + max(1/(i + 2), 0.005) (R_i - r_i)``."""
    level, found = Decimal("0.5"), []
    for i, reward in enumerate(rewards, start=1):
        found.append(level)
        level += max(Decimal(1) / (i + 2), Decimal("0.005")) * (Decimal(reward) - level)
    return found


def scores(arms, rewards, weights, b, a, levels):
    """``g (R - r) (1{A = b}/p_b - 1{A = a}/p_a)`` and ``g``, for each decision."""
    for arm, reward, row, level in zip(arms, rewards, weights, levels, strict=True):
        p_a, p_b = Decimal(row[a]), Decimal(row[b])
        g = p_a * p_b / (p_a + p_b) if p_a + p_b > 0 else Decimal(0)
        sign = Decimal(0)
        if g > 0:
            sign = (1 / p_b if arm == b else 0) - (1 / p_a if arm == a else Decimal(0))
        yield g * (Decimal(reward) - level) * sign, g


def wealth(scored, spent):
    """``M(S)``."""
    total = Decimal(0)
    for prior, bet in zip(priors(), BETS, strict=True):
        product = prior
        for score, _ in scored:
            product *= 1 + bet * score
        total += product * (-bet * spent).exp()
    return total


def lower_end(arms, rewards, weights, b, a, target, levels=None):
    """Estimate and lower end of the effect of ``b`` over ``a``, by bisection; the end is clipped at -1."""
    with localcontext() as context:
        context.prec = 50
        scored = list(scores(arms, rewards, weights, b, a, levels or levels_of(rewards)))
        overlap = sum(g for _, g in scored)
        if overlap == 0:
            return None, Decimal(-1)
        low, high = -overlap, sum(score for score, _ in scored)
        if wealth(scored, low) < target:
            return high / overlap, Decimal(-1)
        for _ in range(90):
            middle = (low + high) / 2
            low, high = (middle, high) if wealth(scored, middle) >= target else (low, middle)
        return sum(score for score, _ in scored) / overlap, low / overlap


def possible_winners(evidence, threshold):
    """Arms whose evidence against them, summed over all others, is below the threshold."""
    n_arms = len(evidence)
    return [a for a in range(n_arms) if sum(evidence[b][a] for b in range(n_arms) if b != a) < threshold]
