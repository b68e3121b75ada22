"""A small figure 6, of policies that compile in no time; the labels are those that claims ask for."""

PANEL = """
[[panels]]
name = "{name}"
title = "({name})"
environment = "gaussian:means={means}"
curves = [
    {{ label = "{thompson}", policy = "gaussian_ts" }},
    {{ label = "UCB", policy = "ucb1", published = 5 }},
    {{ label = "naive bootstrap", policy = "ucb1:sigma=50" }},
]
"""
SMALL = (
    """
title = "Figure 6: small"
horizon = 60
readings = ["Read <so> & so.", "\\u001b[31mnot obeyed"]
"""
    + PANEL.format(name="6a", means="(0.6,0.4)", thompson="Bernoulli-TS")
    + PANEL.format(name="6b", means="(0.5,0)", thompson="Jeffreys-TS")
)
