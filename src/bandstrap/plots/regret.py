"""Mean regret of policies over rounds."""

from __future__ import annotations

from matplotlib.figure import Figure

from bandstrap.engine.simulator.result import Result
from bandstrap.plots.style import LONGEST_NAME, legend_columns, literal, looks_for, new_figure


def plot_regret(result: Result) -> Figure:
    """Draw one line per policy, with a band of two standard errors of the mean."""
    figure, (axis,) = new_figure(8, 5.2)
    errors = 2 * result.standard_error
    looks = looks_for({name: name for name in result.policies})
    for i, name in enumerate(result.policies):
        mean = result.mean[i]
        axis.plot(result.checkpoints, mean, label=literal(name, LONGEST_NAME), **looks[name])
        band = {"color": looks[name]["color"], "alpha": 0.18, "linewidth": 0}
        axis.fill_between(result.checkpoints, mean - errors[i], mean + errors[i], **band)
    axis.set_xlim(0, result.horizon)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("round")
    axis.set_ylabel("mean pseudo-regret (units of the reward)")
    axis.set_title(
        f"{literal(result.environment)}: {result.n_replications} replications; bands: two standard errors", fontsize=10
    )
    columns = legend_columns([str(line.get_label()) for line in axis.lines], 8, fontsize=10)
    figure.legend(loc="outside lower center", ncols=columns, frameon=False)
    return figure
