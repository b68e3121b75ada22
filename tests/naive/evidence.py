"""Evidence from adaptive logs, written from the formulas: decision by decision, in decimals of fifty digits."""

from decimal import Decimal, localcontext

BETS = [Decimal("0.9") / 2**j for j in range(12)]
CONTRAST_CENTRE, VALUE_CENTRE = Decimal(2), Decimal("3.5")


def priors(centre=CONTRAST_CENTRE):
    raw = [1 / (1 + ((j - centre) / Decimal("1.5")) ** 2) for j in range(12)]
    return [each / sum(raw) for each in raw]


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


# --- values ---------------------------------------------------------------------------------------------------------------


def value_steps(arms, rewards, weights, target, levels, bet, less_served=False):
    """``1 + l x`` and ``c`` of each decision, for one bet; ``c`` is what ``x`` lacks of the value."""
    share = 1 if less_served else 0
    cap = Decimal("0.9") / bet - share
    for arm, reward, row, level in zip(arms, rewards, weights, levels, strict=True):
        centres = [
            min(Decimal(level), cap * Decimal(p) / Decimal(pi)) if pi > 0 else Decimal(0)
            for p, pi in zip(row, target, strict=True)
        ]
        ratio = Decimal(target[arm]) / Decimal(row[arm])
        x = ratio * (Decimal(reward) - centres[arm]) - share * (Decimal(reward) - Decimal(level))
        c = sum(Decimal(pi) * centre for pi, centre in zip(target, centres, strict=True)) - share * Decimal(level)
        yield 1 + bet * x, c


def value_lower_end(arms, rewards, weights, target, threshold, less_served=False, flip=False):
    """Lower end of the average value per decision, of rewards ``1 - R`` with ``flip``, by bisection."""
    with localcontext() as context:
        context.prec = 50
        levels = levels_of(rewards)
        if flip:
            rewards, levels = [1 - Decimal(r) for r in rewards], [1 - level for level in levels]
        bets = []
        for prior, bet in zip(priors(CONTRAST_CENTRE if less_served else VALUE_CENTRE), BETS, strict=True):
            steps = list(value_steps(arms, rewards, weights, target, levels, bet, less_served))
            product = prior
            for factor, _ in steps:
                product *= factor
            bets.append((product, bet, sum(c for _, c in steps)))
        n = len(arms)
        low, high = Decimal(-n), Decimal(n)

        def wealth_at(spent):
            return sum(product * (-bet * (spent - c)).exp() for product, bet, c in bets)

        if wealth_at(low) < threshold:
            return Decimal(-1)
        for _ in range(90):
            middle = (low + high) / 2
            low, high = (middle, high) if wealth_at(middle) >= threshold else (low, middle)
        return low / n


def inverse_propensity(arms, rewards, weights, target):
    """IPS, SNIPS and DR, and the effective sample size, one decision after the other in plain floats."""
    total = weight = squares = robust = 0.0
    level = 0.5
    for i, (arm, reward, row) in enumerate(zip(arms, rewards, weights, strict=True), start=1):
        ratio = target[arm] / row[arm]
        total += reward * ratio
        weight += ratio
        squares += ratio * ratio
        robust += level + ratio * (reward - level)
        level += max(1 / (i + 2), 0.005) * (reward - level)
    n = len(arms)
    return total / n, total / weight if weight else None, robust / n, weight**2 / squares if squares else 0.0


# --- health ---------------------------------------------------------------------------------------------------------------


def health_evidence(arms, missing, weights, n_arms):
    """``E`` after each decision."""
    factors = [Decimal(1) / 4, Decimal(1) / 2, Decimal("0.8"), Decimal("1.25"), Decimal(2), Decimal(4)]
    products = {(side, k, theta): Decimal(1) for side in (0, 1) for k in range(n_arms) for theta in factors}
    for arm, gone, row in zip(arms, missing, weights, strict=True):
        for k in range(n_arms):
            for theta in factors:
                p = Decimal(row[k])
                products[0 if gone else 1, k, theta] *= (theta if arm == k else 1) / (1 - p + p * theta)
        yield sum(products.values()) / len(products)


# --- revenue --------------------------------------------------------------------------------------------------------------


def asymptotic_interval(arms, rewards, weights, b, a, alpha):
    """Estimate and ends of the uncapped contrast; ``None`` before 200 rewards other than 0 and 50 decisions each."""
    import math

    level, total, square, overlap, start = 0.0, 0.0, 0.0, 0.0, None
    pulls, nonzero = {a: 0, b: 0}, {a: 0, b: 0}
    for i, (arm, reward, row) in enumerate(zip(arms, rewards, weights, strict=True), start=1):
        g = row[a] * row[b] / (row[a] + row[b]) if row[a] + row[b] > 0 else 0.0
        if arm in pulls:
            xi = g / row[arm] * (reward - level) * (1 if arm == b else -1)
            total += xi
            square += xi * xi
            pulls[arm] += 1
            nonzero[arm] += reward != 0
        overlap += g
        if start is None and sum(nonzero.values()) >= 200 and min(pulls.values()) >= 50 and square > 0:
            start = square
        level += max(1 / i, 0.005) * (reward - level)
    if start is None:
        return total / overlap, None
    rho = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / (10 * start)
    grown = square * rho + 1
    return total / overlap, math.sqrt(grown / rho * math.log(grown / alpha**2)) / overlap


def cap_of(rewards):
    """Cap, and the number of decisions until it is known, after the first reward above 1; ``None`` before."""
    above = next((i for i, reward in enumerate(rewards) if reward > 1), None)
    if above is None:
        return None
    positive = []
    for i, reward in enumerate(rewards[above:], start=above + 1):
        if reward > 0:
            positive.append(reward)
        if len(positive) == 200:
            return sorted(positive)[-3], i
    return None
