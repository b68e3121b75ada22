"""Compiled calls of functions of linear policies.

A module of its own, for the reason given in ``policies/compiled.py``.
"""

from bandstrap.engine.compiler.kernel import Entry
from bandstrap.policies.linear.estimated_distances import estimated_distances
from bandstrap.policies.linear.known_actions import find_action
from bandstrap.policies.linear.linear_bootstrapped_ucb import choice_of_resamples, number_from_the_top, sure_choice
from bandstrap.policies.linear.multiplied import multipliers
from bandstrap.policies.linear.replicates import (
    column_sums,
    complete,
    distances,
    draw_weights,
    factor_all,
    group,
    next_words,
    resample,
    rotate_into_all,
    tally,
)
from bandstrap.policies.linear.ridge import add_observation, norms, predictions


def add_all(regression, features, rewards, first):
    for i in range(len(rewards)):
        add_observation(regression, features[i], rewards[i], first + i)


# Each plain function with its compiled call.
CALLS = {
    function: Entry(function).compiled
    for function in (
        *(find_action, choice_of_resamples, number_from_the_top, multipliers, norms, predictions),
        *(column_sums, complete, distances, draw_weights, factor_all, group, next_words, rotate_into_all, tally),
    )
}
adding = Entry(add_all)
resampling = Entry(resample)
estimating = Entry(estimated_distances)
choosing_surely = Entry(sure_choice)
