"""What is wrong with a site that was built: links that lead nowhere, and what would be fetched from a network."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes whose files a browser fetches by itself.
FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}


class Page(HTMLParser):
    """The places of a page, and where it leads: pairs of a tag and an address."""

    def __init__(self, text):
        super().__init__()
        self.places, self.leads = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
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
    for path in sorted(folder.rglob("*.css")):
        addresses = re.findall(r"url\([\"']?(https?:[^)\"']*)", path.read_text(encoding="utf-8"))
        found += [f"{path.relative_to(folder)} fetches {address}" for address in addresses]
    return found
