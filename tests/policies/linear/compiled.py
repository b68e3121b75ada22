"""Compiled calls of the functions of linear policies that have a body of their own there, and a few around them.

A module of its own, for the reason given in ``policies/compiled.py``. Each name is that of the plain function.
"""

from bandstrap.engine.compiler.kernel import Entry
from bandstrap.policies.linear import known_actions, linear_bootstrapped_ucb, multiplied, replicates, ridge
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
    poisson_roots,
    resample,
    rotate_into_all,
    tally,
)
from bandstrap.policies.linear.ridge import add_observation, norms, predictions


def call_find_action(known, x):
    return find_action(known, x)


def call_number_from_the_top(lengths, rank):
    return number_from_the_top(lengths, rank)


def call_choice_of_resamples(params, state, times, actions, round_):
    return choice_of_resamples(params, state, times, actions, round_)


def call_sure_choice(means, lengths, low, high):
    return sure_choice(means, lengths, low, high)


def call_estimated_distances(known, observed, times, penalty, theta, lengths):
    return estimated_distances(known, observed, times, penalty, theta, lengths)


def call_distances(factors, theta):
    return distances(factors, theta)


def call_factor_all(known, counts, sums, penalty):
    return factor_all(known, counts, sums, penalty)


def call_next_words(generators, words):
    next_words(generators, words)


def call_multipliers(law, n, rng):
    return multipliers(law, n, rng)


def call_poisson_roots(n, rng):
    return poisson_roots(n, rng)


def call_resample(n, generators):
    return resample(n, generators)


def call_column_sums(times):
    return column_sums(times)


def call_complete(times, generators):
    complete(times, generators)


def call_draw_weights(n, rate, generators):
    return draw_weights(n, rate, generators)


def call_group(known, observed):
    return group(known, observed)


def call_tally(grouped, times, counts, sums):
    tally(grouped, times, counts, sums)


def call_rotate_into_all(factors, x, y, roots):
    rotate_into_all(factors, x, y, roots)


def call_norms(factor, actions):
    return norms(factor, actions)


def call_predictions(theta, actions):
    return predictions(theta, actions)


def add_all(regression, features, rewards, first):
    for i in range(len(rewards)):
        add_observation(regression, features[i], rewards[i], first + i)


# Each plain function with its compiled call.
CALLS = {
    known_actions.find_action: Entry(call_find_action).compiled,
    linear_bootstrapped_ucb.choice_of_resamples: Entry(call_choice_of_resamples).compiled,
    linear_bootstrapped_ucb.number_from_the_top: Entry(call_number_from_the_top).compiled,
    multiplied.multipliers: Entry(call_multipliers).compiled,
    replicates.column_sums: Entry(call_column_sums).compiled,
    replicates.complete: Entry(call_complete).compiled,
    replicates.distances: Entry(call_distances).compiled,
    replicates.draw_weights: Entry(call_draw_weights).compiled,
    replicates.factor_all: Entry(call_factor_all).compiled,
    replicates.group: Entry(call_group).compiled,
    replicates.next_words: Entry(call_next_words).compiled,
    replicates.poisson_roots: Entry(call_poisson_roots).compiled,
    replicates.tally: Entry(call_tally).compiled,
    replicates.rotate_into_all: Entry(call_rotate_into_all).compiled,
    ridge.norms: Entry(call_norms).compiled,
    ridge.predictions: Entry(call_predictions).compiled,
}
adding = Entry(add_all)
resampling = Entry(call_resample)
estimating = Entry(call_estimated_distances)
choosing_surely = Entry(call_sure_choice)
