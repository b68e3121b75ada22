"""The badges of the README, as files that need no network; ``python -m docs.making.badges`` writes them."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
BADGES = ROOT / "docs" / "badges"
# Pixels of a letter, and beside the text of a half.
LETTER, ROOM = 6.6, 6
BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="20" role="img" aria-label="{name}: {value}">
<title>{name}: {value}</title>
<rect width="{width:g}" height="20" rx="3" fill="#0072b2"/>
<path d="M3 0H{left:g}V20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{middle:g}" y="14">{name}</text><text x="{other:g}" y="14">{value}</text>
</g></svg>
"""


def facts():
    """What each badge says, by its name: all of it is in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    minors = re.findall(r"Python :: 3\.(\d+)$", "\n".join(project["classifiers"]), re.M)
    return {
        "version": project["version"],
        "python": f"3.{minors[0]} to 3.{minors[-1]}",
        "license": project["license"],
        "types": "mypy strict",
    }


def badge(name, value):
    """A badge as SVG."""
    left, right = (2 * ROOM + LETTER * len(text) for text in (name, value))
    return BADGE.format(name=name, value=value, width=left + right, left=left, middle=left / 2, other=left + right / 2)


def main():
    BADGES.mkdir(exist_ok=True)
    for name, value in facts().items():
        (BADGES / f"{name}.svg").write_text(badge(name, value), encoding="utf-8")


if __name__ == "__main__":
    main()
