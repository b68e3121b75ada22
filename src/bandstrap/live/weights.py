"""Choice of an arm from weights: pure functions of the seed, the version of the log and the decision's key.

Chances are kept as whole numbers of 2^-53: the line from 0 to 2^53 is cut into one piece for each arm, and a hash of
the decision's key, 53 bits of it, says which piece is hit. So a propensity, the length of a piece times 2^-53, is the
probability of the arm exactly, not up to rounding, and every float that is logged is that number.
"""

from __future__ import annotations

import functools
import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bandstrap.policies.online.probabilities import in_whole_parts

# Bits of a hash, as many as a float has.
BITS = 53
WHOLE = 1 << BITS


# --- hashes -------------------------------------------------------------------------------------------------------------


def encoded(*parts: int | str) -> bytes:
    """Numbers and words as bytes, each behind its kind and length, so that different ones never look the same."""
    # Whole numbers have no other characters than ASCII; most words neither.
    words = [
        f"i{len(text := str(part))}:{text}"
        if isinstance(part, int)
        else f"s{len(part) if part.isascii() else len(part.encode())}:{part}"
        for part in parts
    ]
    return "".join(words).encode()


def hash_53(*parts: int | str) -> int:
    """53 bits of a hash: a whole number that is uniform on ``[0, 2^53)`` for all we know.

    >>> 0 <= hash_53(7, "checkout", "u17") < 2**53
    True
    """
    return int.from_bytes(hashlib.sha256(encoded(*parts)).digest()[:8], "big") >> (64 - BITS)


def keyed_generator(seed: int, word: str, number: int = 0) -> np.random.Generator:
    """The generator of one purpose: learning the reward number ``number``, or the weights of a version."""
    rng = np.random.Generator(np.random.PCG64(0))
    give_key(rng, seed, word, number)
    return rng


def give_key(rng: np.random.Generator, seed: int, word: str, number: int) -> None:
    """Make a generator of PCG64 that of a purpose: a hash is its state and its increment, 128 bits each.

    Five times as fast as to make another one, which matters where every reward of a long log has its own.
    """
    digest = hashlib.sha256(encoded(seed, word, number)).digest()
    state, increment = int.from_bytes(digest[:16], "little"), int.from_bytes(digest[16:], "little") | 1
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": increment},
        "has_uint32": 0,
        "uinteger": 0,
    }


def decision_id(name: str, key: str) -> str:
    """The id of the decision with a key: the same from whichever process, so that a call can be repeated."""
    return hashlib.blake2b(encoded(name, key), digest_size=16).hexdigest()


def is_held_out(seed: int, name: str, unit: str, holdout: float) -> bool:
    """Return whether a unit belongs to the share that is given the control; a larger share contains a smaller one."""
    return holdout > 0 and hash_53(seed, name, "holdout", unit) < holdout * WHOLE


# --- shares -------------------------------------------------------------------------------------------------------------


class ShareRule(NamedTuple):
    """Rule that limits the weights of arms: see :func:`shares`."""

    floor: float
    burn_in: int
    new_arm_share: float
    n_initial: int

    @property
    def scored(self) -> int:
        """Rewards with which the policy can score an arm."""
        return max(self.n_initial, 1)

    @property
    def established(self) -> int:
        """Rewards with which an arm is no longer new."""
        return max(self.burn_in, self.scored)


# What a policy gives some arms, in their order.
Ask = Callable[[Sequence[int]], Sequence[float]]


def shares(rule: ShareRule, arms: Sequence[int], rewards: Sequence[int], ask: Ask) -> list[float]:
    """The weight of each of ``arms``, which have that many ``rewards``; ``ask`` gives the policy's own among some.

    An arm is established with ``burn_in`` rewards, and as many as the policy begins with. Until some arm is, all weigh the
    same. A new arm beside established ones is given what the policy would, but no more than ``c = min(new_arm_share,
    1/K)``, and ``c`` if the policy cannot score it yet. Mixed with ``floor/K`` for each arm, and capped at ``c`` again,

        new:          min((1 - floor) min(p, c) + floor/K, c)
        established:  floor/K + (1 - sum of new - |E| floor/K) q

    with the policy's weights ``p`` among all arms that it can score, and ``q`` among the established. What a cap takes away
    goes to the established arms, and every weight is at least ``floor/K``, because ``floor <= new_arm_share``.
    """
    n_arms = len(arms)
    is_established = [n >= rule.established for n in rewards]
    if not any(is_established):
        return [1 / n_arms] * n_arms
    known = [arm for arm, old in zip(arms, is_established, strict=True) if old]
    least = rule.floor / n_arms
    new: dict[int, float] = {}
    if len(known) < n_arms:
        most = min(rule.new_arm_share, 1 / n_arms)
        fit = [arm for arm, n in zip(arms, rewards, strict=True) if n >= rule.scored]
        # Who has only established arms to compare needs no second answer.
        wishes = dict(zip(fit, ask(fit), strict=True)) if len(fit) > len(known) else {}
        for arm, old in zip(arms, is_established, strict=True):
            if not old:
                wish = min(wishes.get(arm, most), most)
                new[arm] = min((1 - rule.floor) * wish + least, most)
    rest = max(1 - sum(new.values()) - len(known) * least, 0.0)
    own = dict(zip(known, ask(known), strict=True))
    return [new[arm] if arm in new else least + rest * own[arm] for arm in arms]


def mixed(floor: float, weights: Sequence[float]) -> list[float]:
    """``(1 - floor) w + floor/K``: the weights of actions."""
    return [(1 - floor) * weight + floor / len(weights) for weight in weights]


# --- the line, cut into pieces ------------------------------------------------------------------------------------------


class ArmProbabilities(NamedTuple):
    """End of the interval of each arm in units of 2^-53, the last at 2^53; and their exact lengths."""

    ends: tuple[int, ...]
    widths: tuple[float, ...]
    text: str  # the widths as JSON

    def at(self, point: int) -> int:
        """The place of the arm whose piece holds a point of ``[0, 2^53)``: the inverse distribution function."""
        return bisect_right(self.ends, point)


def cut(weights: Sequence[float]) -> ArmProbabilities:
    """Cut the line in proportion to weights, of which at least one is above 0.

    >>> cut([1, 0, 3]).widths
    (0.25, 0.0, 0.75)
    """
    ends, widths = in_whole_parts(weights)
    return ArmProbabilities(ends, widths, json.dumps(widths))


@functools.lru_cache(maxsize=64)
def read_widths(weights: str) -> tuple[float, ...]:
    """Probabilities that are stored with a decision; those of one version are the same text."""
    return tuple(json.loads(weights))
