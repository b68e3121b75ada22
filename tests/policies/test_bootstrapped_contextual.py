"""Bootstrapped bounds for any estimator: the formula, frozen weights, arms, simulations, and what is refused."""

import numpy as np
import pytest

import bandstrap
from bandstrap import BootstrappedContextual, live
from bandstrap.basics.extras import is_installed
from bandstrap.environments import LinearContexts, Wheel
from bandstrap.errors import InvalidInput
from naive.bootstrapped_contextual import Weighted, indices
from sampling import exhaustive


class Ridge(Weighted):
    """Ridge regression that learns reward by reward, too."""

    n, moments = 0, 0.0

    def partial_fit(self, x, y, sample_weight):
        rows = np.column_stack([np.ones(len(x)), x])
        self.n += 1
        self.moments = self.moments + (rows.T * sample_weight) @ np.column_stack([rows, y])
        gram, products = self.moments[:, :-1], self.moments[:, -1]
        self.theta = np.linalg.solve(gram + self.penalty * np.eye(len(gram)), products)


class Unweighted:
    """The mean reward whatever the context; takes no weights, and remembers how many rows it saw."""

    def fit(self, X, y):
        self.level, self.n = y.mean(), len(y)

    def predict(self, X):
        return np.full(len(X), self.level)


class Share:
    """A classifier: the share of ones, as a probability."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.classes_ = classes
        total, ones = getattr(self, "counts", (0.0, 0.0))
        self.counts = total + sample_weight.sum(), ones + (sample_weight * y).sum()

    def predict_proba(self, X):
        share = (self.counts[1] + 1) / (self.counts[0] + 2)
        return np.tile([1 - share, share], (len(X), 1))

    def predict(self, X):
        return self.predict_proba(X)[:, 1] > 0.5


def visits(n, seed=0, n_arms=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x @ rng.normal(size=(2, n_arms)) + rng.normal(size=(n, n_arms)) * 0.3


def played(policy, n, seed=0):
    seen, rewards = visits(n, seed)
    chosen = []
    for x, row in zip(seen, rewards, strict=True):
        chosen.append(policy.select(context=x))
        policy.update(chosen[-1], row[chosen[-1]], context=x)
    return chosen


@pytest.mark.parametrize("weights", ["exponential", "poisson"])
def test_indices_are_those_of_the_formula(weights):
    policy = BootstrappedContextual(Ridge(), 3, replicates=5, weights=weights, refit="every=1", rng=1)
    seen, rewards = visits(24)
    rows, rng = [], np.random.default_rng(2)
    for t, x in enumerate(seen):
        arm = int(rng.integers(2 if t < 12 else 3))  # of the last one nothing is known at first
        policy.update(arm, rewards[t, arm], context=x)
        rows.append((t, arm, rewards[t, arm], x))
        if t in (0, 1, 5, 12, 23):
            found = policy.indices(context=seen[0])
            wanted = indices(rows, seen[0], 3, policy._weights_of, Ridge)
            np.testing.assert_allclose([found[k] for k in range(3)], wanted, rtol=1e-9)


def test_learning_one_by_one_and_fitting_anew_see_the_same_weights():
    found = [
        played(BootstrappedContextual(Ridge(), 3, replicates=4, refit=refit, rng=3), 40)
        for refit in ("partial", "every=1")
    ]
    assert found[0] == found[1]
    assert len({*found[0]}) == 3


def test_weights_follow_from_seed_and_number_alone():
    one, again, other = (BootstrappedContextual(Ridge(), 2, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one._weights_of(7), again._weights_of(7))
    assert (one._weights_of(7) != one._weights_of(8)).all()
    assert (one._weights_of(7) != other._weights_of(7)).all()
    drawn = np.array([one._weights_of(i) for i in range(400)])  # 12,000: five standard errors are .05 and .13
    assert abs(drawn.mean() - 1) < 0.05
    assert abs(drawn.var() - 1) < 0.13


def test_estimators_are_fitted_anew_after_doubling_and_then_at_steps():
    policy = BootstrappedContextual(Ridge(), 1, replicates=2, refit="every=8", rng=0)
    changes, before = [], None
    for t, (x, row) in enumerate(zip(*visits(40), strict=True)):
        policy.update(0, row[0], context=x)
        now = policy.predict([0.5, -0.5])[0]
        if now != before:
            changes.append(t + 1)
        before = now
    assert changes == [1, 2, 4, 8, 16, 24, 32, 40]


def test_an_estimator_without_weights_is_given_copies():
    policy = BootstrappedContextual(Unweighted(), 1, replicates=50, weights="poisson", refit="every=1", rng=0)
    for reward in (0.0, 1.0, 2.0, 3.0):
        policy.update(0, reward, context=[0.0])
    weights = np.array([policy._weights_of(i) for i in range(4)])
    sizes = [getattr(model, "n", None) for model in policy._of[0]._models[1:]]
    for size, column in zip(sizes, weights.T, strict=True):
        assert size is None or size == column.sum()  # none where one reward or none is left
    assert sum(size is not None for size in sizes) > 40
    assert policy.predict([0.0]) == {0: 1.5}


def test_a_classifier_predicts_a_probability_and_takes_zeros_and_ones_alone():
    for direction, best in (("max", "a"), ("min", "b")):
        policy = BootstrappedContextual(Share(), ["a", "b"], replicates=10, rng=0, direction=direction)
        for t in range(60):
            policy.update("ab"[t % 2], float((t % 4 < 3 and t % 2 == 0) or t % 10 == 1), context=[0.0])
        assert policy.select(context=[1.0]) == best
    with pytest.raises(InvalidInput, match="0 or 1 with a classifier"):
        policy.update("a", 0.5, context=[0.0])


def test_costs_are_rewards_turned_round():
    seen, rewards = visits(40)
    up, down = (BootstrappedContextual(Ridge(), 3, rng=5, direction=way) for way in ("max", "min"))
    for x, row in zip(seen, rewards, strict=True):
        arm = up.select(context=x)
        assert down.select(context=x) == arm
        up.update(arm, row[arm], context=x)
        down.update(arm, -row[arm], context=x)
    assert down.predict(seen[0])[1] == pytest.approx(-up.predict(seen[0])[1])


def test_arms_have_labels_come_and_go_and_batches_are_learned_whole():
    fields = {"device": ["phone", "desktop"], "age": "number"}
    policy = BootstrappedContextual(Ridge(), ["red", "blue"], contexts=fields, rng=0)
    phone, desktop = {"device": "phone", "age": 0.3}, {"device": "desktop", "age": 0.4}
    policy.update(["red", "blue"] * 20, [1.0, 0.0] * 20, context=[phone, phone] * 20)
    policy.update(["red", "blue"] * 20, [0.0, 1.0] * 20, context=[desktop, desktop] * 20)
    assert policy.select(context=phone) == "red"
    assert policy.select(["blue"], context=phone) == "blue"
    assert policy.weights(context=desktop) == {"red": 0.0, "blue": 1.0}
    policy.add_arm("green")
    assert policy.indices(context=phone)["green"] > policy.indices(context=phone)["blue"]
    policy.retire("red")
    assert policy.select(context=phone) != "red"
    policy.update("red", 1.0, context=phone)  # its late rewards still count
    twin = policy.copy()
    twin.update("green", 1.0, context=phone)
    assert policy.n_rewards == 81
    assert twin.n_rewards == 82
    before = policy.n_rewards
    for wrong in ({"context": [phone]}, {"context": None}, {"context": [phone, {"age": 1.0}]}):
        with pytest.raises(InvalidInput, match="context"):
            policy.update(["red", "blue"], [1.0, 0.0], **wrong)
    assert policy.n_rewards == before


def test_it_plays_in_simulations_with_late_rewards_and_finds_what_pays():
    sizes = {"horizon": 150, "replications": 3, "seed": 1, "progress": False}
    players = {
        "ours": BootstrappedContextual(Ridge(), replicates=5, refit="every=20"),
        "random": bandstrap.policies.UniformRandom(),
    }
    world = LinearContexts(2, n_arms=3)
    with pytest.warns(bandstrap.SlowWarning):
        found, again = (bandstrap.simulate(players, world, delay=5, **sizes) for _ in range(2))
    np.testing.assert_array_equal(found.regret, again.regret)
    ours, random = found.regret[:, :, -1].mean(axis=1)
    assert ours < 0.6 * random
    with pytest.warns(bandstrap.SlowWarning):  # rewards are as large as 50, and most are alike
        wheel = bandstrap.simulate(players, Wheel(0.9), **sizes)
    assert wheel.pulls[0].min() > 0
    with pytest.raises(InvalidInput, match="offers contexts"):
        bandstrap.simulate(players["ours"], bandstrap.environments.Gaussian(), **sizes)


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path):
    policy = BootstrappedContextual(Ridge(), 2, contexts=2, rng=0)
    for method in (policy.save, policy.to_dict):
        with pytest.raises(InvalidInput, match="cannot be saved: its estimators would need pickle"):
            method()
    with pytest.raises(InvalidInput, match="needs pickle"):
        live.create(tmp_path / "own.db", "checkout", policy=BootstrappedContextual(Ridge()), arms=["a", "b"])
    assert not (tmp_path / "own.db").exists()
    for options, word in (
        ({"estimator": Ridge}, "estimator"),
        ({"estimator": object()}, "estimator"),
        ({"estimator": Unweighted(), "weights": "poisson"}, "partial_fit"),
        ({"estimator": Unweighted(), "refit": "every=5"}, "sample_weight"),
        ({"arms": 0}, "arms"),
        ({"arms": ["a", "a"]}, "arms"),
        ({"replicates": 1}, "replicates"),
        ({"weights": "gamma"}, "weights"),
        ({"refit": "every=0"}, "refit"),
        ({"refit": 5}, "refit"),
        ({"rng": 3}, "rng"),
    ):
        with pytest.raises(InvalidInput, match=word):
            BootstrappedContextual(**{"estimator": Ridge()} | options)
    for call, word in (
        (lambda: policy.select(), "context"),
        (lambda: policy.select(context=[1.0]), "context"),
        (lambda: policy.select(["c"], context=[1.0, 2.0]), "available"),
        (lambda: policy.update(5, 1.0, context=[1.0, 2.0]), "arm"),
        (lambda: policy.update(0, float("nan"), context=[1.0, 2.0]), "reward"),
        (lambda: policy.add_arm(1), "label"),
        (lambda: BootstrappedContextual(Ridge()).select(context=[1.0]), "arms"),
    ):
        with pytest.raises(InvalidInput, match=word):
            call()


@exhaustive
@pytest.mark.skipif(not is_installed("sklearn"), reason="scikit-learn is not installed")
@pytest.mark.parametrize(
    ("name", "options", "settings"),
    [
        ("linear_model.SGDRegressor", {"random_state": 0}, {}),
        ("linear_model.LogisticRegression", {}, {"refit": "every=50"}),
        ("tree.DecisionTreeClassifier", {"min_samples_leaf": 5, "random_state": 0}, {"refit": "every=50"}),
        ("neighbors.KNeighborsRegressor", {"n_neighbors": 1}, {"refit": "every=50", "weights": "poisson"}),
        ("linear_model.SGDClassifier", {"loss": "log_loss", "random_state": 0}, {}),
    ],
)
def test_estimators_of_scikit_learn_find_what_pays(name, options, settings):
    """The arm of the sign of the first number pays; by chance alone a half would be right, give or take .04."""
    import importlib

    module, _, cls = name.partition(".")
    estimator = getattr(importlib.import_module(f"sklearn.{module}"), cls)(**options)
    policy = BootstrappedContextual(estimator, 2, replicates=8, rng=0, **settings)
    rng = np.random.default_rng(1)
    right = []
    for _ in range(400):
        x = rng.normal(size=3)
        arm = policy.select(context=x)
        right.append(arm == (x[0] > 0))
        policy.update(arm, float(right[-1]), context=x)
    assert np.mean(right[-150:]) > 0.8
