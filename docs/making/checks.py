"""Faults of a site that was built: links that lead nowhere, formulas that are not set, and what would be fetched
from a network.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes whose files a browser fetches by itself.
FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}


# Elements without an end, and those whose text is shown as it is typed.
EMPTY = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
TYPED = {"code", "pre", "script", "style", "svg", "title"}
# A power, an index or a command that stands as it was typed: in text that no directive, dollar or function has set.
UNSET = re.compile(r"[\w)]\^[-\N{MINUS SIGN}({\w]|\b[^\W\d_]_\w\b|\$[^$\s][^$]*\\[a-z]")
# Text of docstrings that no author of this project wrote.
FOREIGN = re.compile(r"Alias for field number|Configuration for the model|meant to behave like a BaseModel")
# What engineers type into the search of the site; "off" alone is a word that it leaves out.
SOUGHT = ("flask", "http", "checksum", "idempotency", "off-policy")


def not_found(index):
    """The words of SOUGHT that an index of Sphinx finds neither as entries of its own nor by their stems."""
    content = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    return [
        word
        for word in SOUGHT
        if word not in content["indexentries"]
        and not any(word.startswith(stem) for stem in content["terms"] if len(stem) > 3)
    ]


class Page(HTMLParser):
    """The places of a page, where it leads (tag, attribute and address), and its text without code and formulas."""

    def __init__(self, text):
        super().__init__()
        self.places, self.leads, self.text = set(), [], ""
        self._inside = []  # of each element that is open: whether its text is as it was typed
        self.feed(text)

    def handle_endtag(self, tag):
        if tag not in EMPTY and self._inside:
            self._inside.pop()

    def handle_data(self, data):
        if not any(self._inside):
            self.text += data

    def handle_starttag(self, tag, attrs):
        if tag not in EMPTY:
            self._inside.append(tag in TYPED or {"math", "sig"} & set((dict(attrs).get("class") or "").split()))
        for key, value in attrs:
            if key in ("id", "name") and value:
                self.places.add(value)
            elif key in ("href", "src") and value:
                self.leads.append((tag, key, value))


def problems(folder):
    """One sentence for each thing that is wrong with the pages of a folder."""
    folder = Path(folder).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for formula in UNSET.finditer("" if path.stem.startswith(("genindex", "py-modindex")) else page.text):
            shown = " ".join(page.text[max(formula.start() - 20, 0) : formula.end() + 20].split())
            found.append(f"{path.relative_to(folder)} has a formula that is not set: {shown}")
        found += [f"{path.relative_to(folder)} shows {text!r}" for text in sorted({*FOREIGN.findall(page.text)})]
        for tag, key, address in page.leads:
            url = urlsplit(address)
            if url.scheme or url.netloc:
                if (tag, key) in FETCHED and url.scheme != "data":
                    found.append(f"{path.relative_to(folder)} fetches {address}")
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.is_file():
                found.append(f"{path.relative_to(folder)} leads to {address}, which is not there")
            elif "=" in url.fragment or not url.fragment or target not in pages:  # settings of a page, or no place
                continue
            elif unquote(url.fragment) not in pages[target].places:
                found.append(f"{path.relative_to(folder)} leads to {address}, where there is no such place")
    for path in sorted(folder.glob("searchindex.js")):
        found += [f"the search does not find {word!r}" for word in not_found(path.read_text(encoding="utf-8"))]
    for path in sorted(folder.rglob("*.css")):
        addresses = re.findall(r"url\([\"']?(https?:[^)\"']*)", path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(folder)} fetches {address}" for address in addresses]
    return found
