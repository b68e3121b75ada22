"""A policy that needs the same actions each time is not raced on new ones without a word."""

from pathlib import Path

import numpy as np
import pytest

from bandstrap import LinearReBoot, LinUCB, simulate
from bandstrap.environments import LinearBandit
from bandstrap.errors import AssumptionWarning

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "linear.md"
SIZES = {"horizon": 60, "replications": 2, "seed": 0, "progress": False}


def test_new_actions_each_round_are_warned_of():
    with pytest.warns(AssumptionWarning, match="linear_reboot needs a fixed set of actions; linear_bandit"):
        simulate([LinearReBoot(), LinUCB()], LinearBandit(3, n_actions=4, contextual=True), **SIZES)
    simulate(LinearReBoot(), LinearBandit(3, n_actions=4), **SIZES)  # warnings are errors here
    simulate(LinUCB(), LinearBandit(3, n_actions=4, contextual=True), **SIZES)


def test_a_stranger_is_always_taken_first():
    # So that with new actions each round the choice does not depend on rewards: regret is that of a random choice.
    policy = LinearReBoot(rng=0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        actions = rng.normal(size=(4, 2))
        assert policy.select(actions) == 0
        policy.update(actions[0], float(actions[0] @ [1.0, -1.0]))


@pytest.mark.parametrize("contextual", [True, False], ids=["new", "same"])
def test_the_tables_of_the_page_are_what_its_commands_print(contextual):
    """Of the cheap policies, all 50 replications; the numbers are rounded as the command rounds them."""
    names = {"lin_ucb": LinUCB(), "linear_reboot": LinearReBoot()}
    environment = LinearBandit(5, n_actions=20, contextual=contextual)
    with pytest.warns(AssumptionWarning) if contextual else np.errstate():
        found = simulate(names, environment, horizon=1000, replications=50, seed=1, progress=False)
    title = "New actions each round" if contextual else "The same actions each round"
    table = PAGE.read_text().partition(f"## {title}")[2].partition("\n## ")[0]
    for row in found.summary():
        cells = [f"{row[column]:.4g}" for column in ("mean", "standard_error", "q99")]
        assert f"| `{row['policy']}` | {' | '.join(cells)} |" in table
