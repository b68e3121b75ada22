"""Late, batched and lost rewards, as a dictionary of what arrives at the end of which round."""

import math


def play_with_dictionary(decide, learn, rewards, *, delays, lost, batch):
    """Decisions of as many rounds as there are ``delays``; ``rewards(t, arm, i)`` is that of pull ``i``, in round ``t``.

    ``decide(t)`` gives the arm of round ``t``, and ``learn(decision, arm, reward)`` is told what arrived; rounds are
    counted from 1.
    """
    arriving: dict[int, list] = {}
    pulls: dict[int, int] = {}
    unread: list = []
    choices = []
    for t in range(1, len(delays) + 1):
        arm = decide(t)
        choices.append(arm)
        reward = rewards(t, arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        if not lost[t - 1] and math.isfinite(delays[t - 1]):
            arriving.setdefault(t + math.ceil(delays[t - 1]), []).append((t, arm, reward))
        unread += arriving.pop(t, [])
        if t % batch == 0:
            for decision, arm_then, reward_then in unread:
                learn(decision, arm_then, reward_then)
            unread = []
    return choices
