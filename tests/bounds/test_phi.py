import math

import numpy as np
import pytest

from bandstrap.bounds import bootstrap, empirical_bernstein, empirical_kl, hoeffding, sign_flip, student_t, sub_weibull
from bandstrap.errors import InvalidInput
from sampling import each

REWARDS = [0.1, 0.7, 0.4, 0.9, 0.3, 0.6]
BATCH = np.random.default_rng(0).uniform(0, 1, size=(3, 4, 6))


def phi_of(sample=REWARDS, alpha=0.05, **options):
    return bootstrap(sample, alpha, **options).parts["phi"]


def test_sigma_alone_means_hoeffding():
    assert phi_of(sigma=2.0) == hoeffding(REWARDS, 0.05, sigma=2.0).width
    assert phi_of(support=(0, 1)) == hoeffding(REWARDS, 0.05, support=(0, 1)).width


@pytest.mark.parametrize("correction", ["practical", "stated", "theorem", "sharp"])
def test_all_forms_take_phi_on_one_side(correction):
    # Theorem 1 needs no more: a miss has the mean above the sample mean.
    assert phi_of(sigma=1.0, correction=correction) == pytest.approx(math.sqrt(2 * math.log(20) / 6), rel=1e-14)
    both = bootstrap(REWARDS, 0.05, sigma=1.0, correction=correction, side="two-sided").parts
    assert both["lower phi"] == both["upper phi"] == pytest.approx(math.sqrt(2 * math.log(40) / 6), rel=1e-14)


@pytest.mark.parametrize("correction", ["practical", "sharp"])
def test_one_sided_phi_is_that_of_the_side_asked_for(correction):
    options = {"phi": "empirical_kl", "support": (-3, 1), "correction": correction}
    assert phi_of(**options) == pytest.approx(empirical_kl(REWARDS, 0.05, support=(-3, 1)).width, rel=1e-12)
    expected = empirical_kl(REWARDS, 0.05, support=(-3, 1), side="lower").width
    assert phi_of(side="lower", **options) == pytest.approx(expected, rel=1e-12)


def test_phi_of_other_bounds_by_name():
    assert phi_of(phi="student_t") == student_t(REWARDS, 0.05).width
    assert phi_of(phi="empirical_bernstein", support=(0, 1)) == pytest.approx(
        empirical_bernstein(REWARDS, 0.05, support=(0, 1)).width, rel=1e-14
    )
    assert phi_of(phi="sub_weibull", sigma=1.0, beta=1.0) == pytest.approx(
        sub_weibull(REWARDS, 0.05, sigma=1.0, beta=1.0).width, rel=1e-14
    )


def test_phi_as_a_number_and_as_an_array():
    assert phi_of(phi=0.25) == 0.25
    assert phi_of(phi=np.float32(0.25)) == 0.25
    assert (phi_of(BATCH, phi=0.25) == np.full((3, 4), 0.25)).all()
    widths = np.arange(12.0).reshape(3, 4)
    assert (phi_of(BATCH, phi=widths) == widths).all()
    assert (phi_of(BATCH, phi=widths[0]) == np.tile(widths[0], (3, 1))).all()


def test_phi_as_a_callable_sees_rewards_and_level():
    seen = []

    def phi(rewards, alpha):
        seen.append((rewards.tolist(), alpha))
        return np.ptp(rewards, axis=-1)

    bound = bootstrap(REWARDS, 0.05, phi=phi, side="two-sided")
    assert seen == [([-y for y in REWARDS], 0.025), (REWARDS, 0.025)]
    assert bound.parts["lower phi"] == bound.parts["upper phi"] == pytest.approx(0.8)


def test_phi_zero_leaves_the_quantile():
    assert bootstrap(REWARDS, 0.05, phi=0).width == pytest.approx(
        bootstrap(REWARDS, 0.05, correction="none").width, rel=1e-14
    )


def test_phi_is_not_asked_for_where_it_is_not_used():
    assert bootstrap(REWARDS, 0.05, correction="none").parts["correction"] == 0.0


def test_phi_is_asked_for_where_it_is_used():
    with pytest.raises(
        InvalidInput, match=r"'phi' parameter of bootstrap must be .* unless 'sigma' or 'support' is given"
    ):
        bootstrap(REWARDS, 0.05)


@each("name", ["bootstrap", "sign_flip", "hoefding", ""])
@each("bound", [bootstrap, sign_flip])
def test_phi_must_name_a_bound_that_can_serve(bound, name):
    match = f"'phi' parameter of {bound.__name__} must be one of .*, a width or a callable. Got '{name}' instead"
    with pytest.raises(InvalidInput, match=match):
        bound(REWARDS, 0.05, phi=name)


@pytest.mark.parametrize("bound", [bootstrap, sign_flip])
def test_phi_must_take_the_options_given(bound):
    with pytest.raises(InvalidInput, match=f"'phi' parameter of {bound.__name__} must be a bound that takes sigma"):
        bound(REWARDS, 0.05, phi="student_t", sigma=1.0)


@each("bound", [bootstrap, sign_flip])
@each("phi", [-0.1, [-0.1], math.nan, lambda rewards, alpha: -1.0])
def test_phi_must_not_be_negative(bound, phi):
    sample = REWARDS if not isinstance(phi, list) else [REWARDS]
    with pytest.raises(InvalidInput, match=f"'phi' parameter of {bound.__name__} must be non-negative"):
        bound(sample, 0.05, phi=phi)


@each("bound", [bootstrap, sign_flip])
@each(
    "phi",
    [
        np.ones(3),
        np.ones((4, 3)),
        {"a": 1},
        lambda rewards, alpha: rewards,
        lambda rewards, alpha: b"1",
        lambda rewards, alpha: np.array([5], dtype="m8[s]"),
        np.array("1", dtype=object),
    ],
)
def test_phi_must_have_the_shape_of_the_batch(bound, phi):
    with pytest.raises(InvalidInput, match=rf"'phi' parameter of {bound.__name__} must be a width of shape \(3, 4\)"):
        bound(BATCH, 0.05, phi=phi)


@each("bound", [bootstrap, sign_flip])
@each("sigma", [0, -1.0, math.nan, "a", True])
def test_sigma_behind_phi_must_be_positive(bound, sigma):
    with pytest.raises(InvalidInput, match="'sigma' parameter of hoeffding must be a finite number greater than 0"):
        bound(REWARDS, 0.05, sigma=sigma)


@pytest.mark.parametrize("bound", [bootstrap, sign_flip])
def test_support_behind_phi_must_be_ascending_and_hold_the_rewards(bound):
    with pytest.raises(InvalidInput, match=f"'support' parameter of {bound.__name__} must be a pair"):
        bound(REWARDS, 0.05, support=(1, 0))
    with pytest.raises(InvalidInput, match=r"inside the support \[0, 0.5\]. Got 0.7 at position 1"):
        bound(REWARDS, 0.05, support=(0, 0.5))


def test_sigma_and_support_are_not_both_for_hoeffding():
    with pytest.raises(InvalidInput, match=r"'sigma' parameter of hoeffding must be given, .* Got both instead"):
        bootstrap(REWARDS, 0.05, sigma=1.0, support=(0, 1))
