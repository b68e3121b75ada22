"""A user's program with types; tests/typing asks a strict checker for more, and for what is wrong."""

from bandstrap import EdgeworthUCB, Result, live, simulate
from bandstrap.bounds import sign_flip
from bandstrap.environments import Gaussian

policy = EdgeworthUCB(arms=["red", "green"], rng=7)
policy.update(policy.select(), 1.5)
pulls: int = policy.table()[0].pulls
result: Result = simulate([EdgeworthUCB()], Gaussian([0.0, 1.0]), horizon=10, replications=2, seed=0)
above: bool = bool(sign_flip([3.1, 0.4, 2.2, 5.9, 1.8, 2.7], alpha=0.05).upper > 2)
with live.create("shop.db", "checkout", policy="ucb1", arms=["red", "green"]) as shop:
    chance: float = shop.decide(unit="u17").propensity
