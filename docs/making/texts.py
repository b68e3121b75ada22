"""Pages written from what is kept elsewhere: the errata, what the benchmarks printed, and the league as a map."""

import json
import math
import re
from functools import partial
from pathlib import Path

import polars
import typer

from bandstrap.cli.commands import app
from bandstrap.league.spec import read_league
from bandstrap.paper.formulas import in_symbols
from bandstrap.paper.reproduce import errata as read_errata
from bandstrap.plots.league import shade, shade_in_the_dark, show_multiple
from benchmarks.document import read_json
from docs.making.markup import plain, with_formulas

RECORD = Path(__file__).parents[1] / "benchmarks.json"
PEERS = Path(__file__).parents[1] / "peers.json"
LEAGUE = Path(__file__).parents[1] / "league"
DRIFT = Path(__file__).parents[1] / "drift.json"
EVIDENCE = Path(__file__).parents[1] / "evidence.json"
REAL = Path(__file__).parents[1] / "real_data.json"


def errata():
    """Each misprint with the reading that is followed here."""
    return "\n".join(
        f"({entry['id'].lower()})=\n## {entry['id']}: {heading(entry['where'])}\n\n"
        f"**Printed.** {with_formulas(entry['printed'])}\n\n"
        f"**Read as.** {with_formulas(entry['reading'])}\n\n"
        f"**In the code.** {with_formulas(entry['code'])}\n"
        for entry in read_errata()
    )


def heading(text):
    """Text with its subscripts set, as formulas: elements would get lost on the way from a heading to the navigation."""
    return re.sub(r"(\w)\\_(\w)\b", r"$\1_\2$", plain(in_symbols(text)))


def cell(text):
    return plain(text).replace("|", "\\|")


def benchmarks():
    """Every table that was printed, and how many goals are met."""
    kept = read_json(RECORD)
    parts = [f"## {plain(table.question)}\n\n{table.as_markdown()}" for table in kept]
    verdicts = [row.verdict for table in kept for row in table.rows]
    parts.append(f"{verdicts.count('met')} goals met, {verdicts.count('missed')} missed.")
    return "\n".join(parts)


def peers():
    """What was measured beside other libraries."""
    tables = read_json(PEERS)
    return "\n".join(f"### {plain(table.question)}\n\n{table.as_markdown()}" for table in tables)


def heatmap():
    """Mean regret after 2000 rounds as a multiple of the best policy's, policy by kind of rewards, as a coloured table."""
    matches = polars.read_parquet(LEAGUE / "horizon-2000.parquet")
    rows = matches.select("environment", "policy", "relative").iter_rows()
    multiples = {(environment, policy): relative for environment, policy, relative in rows}
    played = {environment for environment, _ in multiples}  # one that was entered since has no column yet
    kinds = [environment.name for environment in read_league().environments if environment.name in played]
    lines = []
    for row in polars.read_parquet(LEAGUE / "overall-2000.parquet").iter_rows(named=True):
        found = [row["relative"], *(multiples[kind, row["policy"]] for kind in kinds)]
        cells = "".join(coloured(math.nan if multiple is None else multiple) for multiple in found)
        lines.append(f'<tr><th scope="row">{row["policy"]}</th>{cells}</tr>')
    heads = "".join(f'<th scope="col">{kind}</th>' for kind in ("policy", "overall", *kinds))
    table = ["<thead>", f"<tr>{heads}</tr>", "</thead>", "<tbody>", *lines, "</tbody>"]
    return "\n".join(['<div class="table-wrapper">', '<table class="heat">', *table, "</table>", "</div>", ""])


def coloured(multiple):
    """A cell, the farther from the page in colour the larger; the best is bold."""
    text = show_multiple(multiple)
    looks = [*shade(multiple), *shade_in_the_dark(multiple)]
    named = zip(("--paper", "--ink", "--dark-paper", "--dark-ink"), looks, strict=True)
    style = "" if math.isnan(multiple) else f' style="{"; ".join(f"{name}: {colour}" for name, colour in named)}"'
    return f"<td{style}>{f'<b>{text}</b>' if multiple == 1 else text}</td>"


def drift():
    """What a moving level costs, with and without epochs."""
    kept = json.loads(DRIFT.read_text(encoding="utf-8"))
    rows = kept["rows"]
    heads = ["common level", *next(iter(rows.values()))]
    cells = [
        [name, *(f"{of['regret']:.1f} ± {of['error']:.1f} ({of['ends_worse']:.3f})" for of in found.values())]
        for name, found in rows.items()
    ]
    said = (
        f"{kept['runs']} runs of 8000 rounds each: mean regret ± its standard error (runs that end on the worse arm)."
    )
    return f"{said}\n\n{numbers_table(heads, cells)}"


def numbers_table(heads, rows):
    """A table whose first column has names, and the others numbers."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join([*(f"| {' | '.join(cells)} |" for cells in lines), ""])


def studied(part):
    """Rows of a part that ``python -m study.evidence`` kept, by name."""
    return json.loads(EVIDENCE.read_text(encoding="utf-8"))[part]["rows"]


LEVELS = {"constant": "constant", "rises": "rises fourfold", "falls": "falls to a quarter", "wave": "two waves"}


def misses():
    """Misses at any time with equal arms, beside those of usual intervals."""
    rows = []
    for name, of in studied("coverage").items():
        arms, world = name.split(", ")
        usual = f"{of['naive']:.3f}" if arms == "2 arms" else "-"
        row = [f"{arms}, {LEVELS[world]}", f"{of['runs']:,}", f"{of['missed']:.4f}", f"{of['winner']:.4f}"]
        rows.append([*row, f"{of['width']:.2f}", usual, f"{of['flag']:.3f}"])
    ours = ["common level", "runs", "missed at any time", "false winner", "width over a fixed-time interval"]
    return numbers_table([*ours, "usual: missed", "apart"], rows)


TRAFFIC = {
    "even": "even",
    "floor 0.4": "Thompson sampling, floor 0.4",
    "floor 0.1": "Thompson sampling, floor 0.1",
}


STOP_COLUMNS = {"mean": "{:.2f} of it", "median": "{:.2f}", "none": "{:.4g}", "wrong": "{:.4g}", "runs": "{:,}"}


def stops():
    """When a verdict comes, over the size of a fixed test."""
    found = studied("stops")
    rows = [
        [said, *(form.format(found[name][each]) for each, form in STOP_COLUMNS.items())]
        for name, said in TRAFFIC.items()
    ]
    return numbers_table(["traffic", "mean", "median", "no verdict by 8 times that", "wrong", "runs"], rows)


VALUE_COLUMNS = {"missed": "{:.3f}", "over_fixed": "{:.2f}", "over_theirs": "{:.2f}"}


def value_widths():
    """Misses and widths of the values of arms."""
    names = {"arm 1": "the better one, which most decisions have", "arm 0": "the other"}
    found = studied("values")
    rows = [
        [said, *(form.format(found[name][each]) for each, form in VALUE_COLUMNS.items())]
        for name, said in names.items()
    ]
    theirs = f"width over that of vw-estimators 0.2.2, {found['arm 0']['theirs']} logs"
    return numbers_table(["arm", "missed at any time", "width over a fixed-time interval", theirs], rows)


def screen(name):
    """What a part of ``docs/real_data.py`` printed."""
    lines = json.loads(REAL.read_text(encoding="utf-8"))[name]["printed"]
    return "\n".join(["```text", *lines, "```", ""])


trial, banners, visits, purchases, routing = (
    partial(screen, name) for name in ("trial", "banners", "visits", "purchases", "routing")
)


def commands():
    """Every command with its options, as ``--help`` has them."""
    parts = []

    def describe(path, command):
        if hasattr(command, "commands"):
            for name, sub in command.commands.items():
                describe([*path, name], sub)
            return
        parts.append(f"## `{' '.join(path)}`\n\n{plain(' '.join((command.help or '').split()))}\n")
        rows = [option(parameter) for parameter in command.params if is_shown(parameter)]
        parts.append("\n".join(["| | |", "| --- | --- |", *rows, ""]))

    describe(["bandstrap"], typer.main.get_command(app))
    return "\n".join(parts)


def is_shown(parameter):
    """Whether help has a parameter; not an old name of another."""
    return parameter.name != "help" and not getattr(parameter, "hidden", False)


def words_of(parameter):
    """The words that a parameter takes, if they are few; where they are kept depends on the version of typer."""
    kind = getattr(parameter, "type_descriptor", None) or getattr(parameter, "type", None)
    return getattr(kind, "choices", None) or ()


def option(parameter):
    """A row of the table of a command's options."""
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        name = ", ".join([*parameter.opts, *parameter.secondary_opts])
    about = " ".join((parameter.help or "").split())
    words = words_of(parameter)
    about += f" One of {', '.join(words)}." if words else ""
    has_default = parameter.default not in (None, False, [], (), "") and parameter.param_type_name != "argument"
    default = f" Default: `{parameter.default}`." if has_default and not callable(parameter.default) else ""
    return f"| `{name}` | {cell(about)}{default} |".replace("`|", "`\\|")
