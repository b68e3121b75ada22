"""A page for each policy and an overview, written from the registry, the docstrings, the league and the benchmarks."""

import functools
import inspect
import re

import polars

from bandstrap.basics.storage import write_bytes
from bandstrap.policies import LINEAR_POLICIES, POLICIES, Policy
from bandstrap.policies.linear import LinearPolicy
from benchmarks.document import read_json, short
from docs.making.curves import HORIZON, KEPT, REPLICATIONS, league, worlds
from docs.making.texts import RECORD

LEAGUE = KEPT.parent / "league" / "overall-2000.parquet"
COSTS = "What does a decision of each"
TOLD = {
    "nothing": "No parameters to set",
    "sigma": "Needs a noise scale",
    "range": "Needs a range, or made for [0, 1]",
    "moment": "Needs a bound on a moment",
    "linear": "Linear: actions known by features",
}
OVERVIEW = """# All policies

{count} policies, grouped by the parameters that they need. Each has a page with its formula, its assumptions, when to
prefer it, the cost of a decision and its regret beside the others. [Which policy should I use?](../which-policy.md)
answers the question from a league of all of them; these pages describe each on its own.

```{{drawn}} costs
Mean regret after {horizon} rounds of beta rewards against what a decision costs in compiled play, each on a logarithmic
scale. Low and left is good.
```

Regret is the mean over {replications} replications of {horizon} rounds, ± two standard errors; a decision is compiled and
on one core. Those that need a range play beta rewards alone.
"""
HEADER = """| policy | what it is | a decision | beta | normal | exponential |
| --- | --- | ---: | ---: | ---: | ---: |"""
LINEAR_HEADER = """| policy | what it is | a decision | linear, d = 10 |
| --- | --- | ---: | ---: |"""


def registry():
    return POLICIES | LINEAR_POLICIES


@functools.cache
def costs():
    """Nanoseconds per decision, as the benchmarks measured them, by name."""
    tables = [table for table in read_json(RECORD) if table.question.startswith(COSTS)]
    return {row.name: row.details["ns"] for table in tables for row in table.rows}


@functools.cache
def ends():
    """Mean regret at the end and its standard error, by environment and policy."""
    frame = polars.read_parquet(KEPT).filter(round=HORIZON)
    return {(row["environment"], row["policy"]): row for row in frame.iter_rows(named=True)}


@functools.cache
def told(name):
    """Kind of parameters that the form of the policy that plays here needs."""
    if name in LINEAR_POLICIES:
        return "linear"
    entries = [policy for policy in league().policies if policy.call.partition(":")[0] == name]
    return min(entries, key=lambda policy: len(policy.call)).told


def summary(cls):
    """The first sentence of the docstring."""
    return " ".join(inspect.getdoc(cls).split("\n\n")[0].split())


def advice(cls):
    """What the docstring says that it assumes, and when to prefer it."""
    paragraphs = [" ".join(part.split()) for part in inspect.getdoc(cls).split("\n\n")]
    (found,) = [part for part in paragraphs if part.startswith("Assumes ") and " Prefer " in part]
    assumed, _, preferred = found.partition(" Prefer ")
    return [as_markdown(assumed.removeprefix("Assumes ")), as_markdown(f"Prefer {preferred}")]


def as_markdown(text):
    """The two marks of docstrings that these sentences have."""
    return re.sub(r":class:`([\w.]+)`", r"{class}`\1`", text.replace("``", "`"))


def shown_cost(name):
    nanoseconds = costs()[name]
    return f"{short(nanoseconds)} ns" if nanoseconds < 1000 else f"{short(nanoseconds / 1000)} µs"


def shown_regret(environment, name):
    row = ends().get((environment, name))
    return "" if row is None else f"{row['mean']:.3g} ± {2 * row['standard_error']:.2g}"


def overview():
    parts = [OVERVIEW.format(count=len(registry()), horizon=HORIZON, replications=REPLICATIONS)]
    *plain, linear = [environment for environment, _ in worlds()]
    for kind, title in TOLD.items():
        parts.append(f"## {title}\n\n{LINEAR_HEADER if kind == 'linear' else HEADER}")
        for name, cls in sorted(registry().items(), key=lambda item: item[1].__name__.lower()):
            if told(name) == kind:
                cells = [shown_regret(environment, name) for environment in ([linear] if kind == "linear" else plain)]
                row = [f"[{cls.__name__}]({name}.md)", summary(cls), shown_cost(name), *cells]
                parts.append(f"| {' | '.join(row)} |")
        parts.append("")
    names = "\n".join(sorted(registry(), key=lambda name: registry()[name].__name__.lower()))
    return "\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"])


def facts(name, cls):
    """What a reader wants to know first."""
    assumed, preferred = advice(cls)
    yield "assumes", assumed
    yield "when", preferred
    yield "on the command line", f"`{name}`"
    yield (
        "needs",
        "features of the actions" if told(name) == "linear" else told(name).replace("sigma", "a noise scale"),
    )
    yield "a decision costs", f"{shown_cost(name)} compiled, on one core"
    if cls.n_initial > 1:
        yield "at the start", f"every arm is pulled {'twice' if cls.n_initial == 2 else f'{cls.n_initial} times'}"
    if keeps_rewards(cls):
        yield "memory", "keeps every reward"
    members = {policy.name: policy.call for policy in league().policies}
    for row in polars.read_parquet(LEAGUE).iter_rows(named=True):
        if members[row["policy"]].partition(":")[0] == name:
            ratios = f"{row['ratio']:.3f} of BUCB+'s mean regret, {row['ratio_q99']:.3f} of its 99th percentile"
            yield "[in the league](../which-policy.md)", f"`{members[row['policy']]}`: {ratios}"


def keeps_rewards(cls):
    """Whether what it remembers grows with the rewards."""
    if issubclass(cls, LinearPolicy):
        return False

    def size(capacity):
        import numpy as np

        policy = cls()
        state = policy.make_state(2, capacity, np.arange(2))
        return sum(np.size(field) for field in state if isinstance(field, np.ndarray))

    return size(4000) > size(1000)


def page(name, cls):
    base = LinearPolicy if issubclass(cls, LinearPolicy) else Policy
    own = [member for member, value in vars(cls).items() if callable(value) and not member.startswith("_")]
    own = [member for member in own if not hasattr(base, member)]
    members = f"\n   :members: {', '.join(own)}" if own else ""
    rows = "\n".join(f"| {key} | {value} |" for key, value in facts(name, cls))
    yardstick = "" if name == "ucb1" or base is LinearPolicy else "; dashed: UCB1"
    return f"""# {cls.__name__}

{summary(cls)}

| | |
| --- | --- |
{rows}

```{{drawn}} regret {name}
Mean regret of {cls.__name__} over {REPLICATIONS} replications, with two standard errors, among the other policies
(grey{yardstick}).
```

```{{eval-rst}}
.. autoclass:: bandstrap.{cls.__name__}{members}
```

`select`, `update`, `save` and all that live policies have in common is described with
{{class}}`bandstrap.{base.__name__}`.
"""


def write(folder):
    """All pages; one that has not changed is left alone, so that it is not read again."""
    folder.mkdir(exist_ok=True)
    pages = {"index": overview()} | {name: page(name, cls) for name, cls in registry().items()}
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_bytes(path, text.encode())
