"""Pages of the site on a phone: no page is wider than the window, and of each picture one drawing is shown."""

import shutil

import pytest

from pages import DOCS, ROOT
from play.browser import Page, find_chromium

# One with pictures, one with formulas besides, one with wide tables and the league's map, one with wide code, a notebook.
PAGES = {
    "explanation/saturation": ".md",
    "explanation/sign-flips": ".md",
    "which-policy": ".md",
    "executors": ".md",
    "notebooks/statistician": ".ipynb",
}
CONF = """
import sys
sys.path.insert(0, {root!r})
from docs.conf import *
html_static_path = [{static!r}]
nitpicky = False
def setup(app):
    directives.setup(app)
"""
SHOWN = (
    "[...document.querySelectorAll('figure')].map((f) => [...f.querySelectorAll('img')].filter((i) => i.offsetWidth))"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A small site of these pages alone; links to the others lead nowhere."""
    pytest.importorskip("furo")
    pytest.importorskip("myst_nb")
    if find_chromium() is None:
        pytest.skip("no Chromium is installed")
    from sphinx.cmd.build import build_main

    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for page, suffix in PAGES.items():
        (source / page).parent.mkdir(exist_ok=True)
        shutil.copy(DOCS / f"{page}{suffix}", source / f"{page}{suffix}")
    contents = "\n".join(PAGES)
    (source / "index.md").write_text(f"# Some pages\n\n```{{toctree}}\n{contents}\n```\n")
    (source / "conf.py").write_text(CONF.format(root=str(ROOT), static=str(DOCS / "static")))
    assert build_main(["-q", "-b", "html", str(source), str(built)]) == 0
    return built


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    made = Page(find_chromium(), tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()


@pytest.mark.filterwarnings("default")  # of Sphinx and what it loads
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(site, page, name):
    for scheme, width in (("light", 390), ("dark", 390), ("light", 1280)):
        page.open((site / f"{name}.html").as_uri(), width=width, prefers_color_scheme=scheme)
        assert page.run("document.documentElement.scrollWidth") <= width
        drawn = page.run(f"{SHOWN}.map((shown) => shown.map((image) => image.className))")
        size = "narrow" if width == 390 else "wide"
        assert all(len(shown) == 1 and {f"only-{scheme}", size} <= set(shown[0].split()) for shown in drawn)
        assert bool(drawn) == name.startswith("explanation")
        if width == 390 and drawn:  # letters keep their size: the drawing is shown as large as it was made
            natural = page.run(f"{SHOWN}[0][0].decode().then(() => {SHOWN}[0][0].naturalWidth)")
            assert 0.85 * natural <= page.run(f"{SHOWN}[0][0].offsetWidth") <= 1.2 * natural
