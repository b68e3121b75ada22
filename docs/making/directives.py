"""What a page asks for by name: a picture that is drawn, or text that is written, when the site is built.

    ```{drawn} saturation
    The caption.
    ```

draws ``pictures.saturation`` for light and dark pages, and for pages and phones, and shows the one of the four that suits.

    ```{written} errata
    ```

puts in the Markdown that ``texts.errata`` returns.
"""

from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from matplotlib import rc_context

from bandstrap.plots.style import draw_figure
from docs.making import pictures, texts

INKS = {"light": "#1f2328", "dark": "#e6edf3"}


def looks():
    """Nothing behind the picture, and letters in the colour of a light page's."""
    ink = INKS["light"]
    coloured = ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "legend.labelcolor"]
    return dict.fromkeys(coloured, ink) | {
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["Inter", "Segoe UI", "Helvetica", "Arial", "DejaVu Sans"],
        "grid.color": "#8c959f",
        "hatch.color": ink,
    }


def draw(make, folder, name):
    """The picture for pages and for phones, each for light ones and, with other ink, for dark ones: their files."""
    folder.mkdir(exist_ok=True)
    names = {}
    for size in ("wide", "narrow"):
        with rc_context(looks()):
            drawn = draw_figure(make(size == "narrow"), "svg", as_text=True).decode()
        for theme, ink in INKS.items():
            names[theme, size] = f"{name}-{size}-{theme}.svg"
            (folder / names[theme, size]).write_text(drawn.replace(INKS["light"], ink), encoding="utf-8")
    return names


class Drawn(Directive):
    """A picture by the name of the function that draws it, and what is handed to it; the content is its caption."""

    required_arguments = 1
    optional_arguments = 1
    has_content = True

    def run(self):
        name, *given = self.arguments
        env = self.state.document.settings.env
        folder = Path(env.srcdir) / "drawn"
        function = getattr(pictures, name.replace("-", "_"))
        names = draw(lambda narrow: function(narrow, *given), folder, "-".join([name, *given]))
        env.note_dependency(pictures.__file__)
        caption = nodes.caption()
        self.state.nested_parse(self.content, self.content_offset, caption)
        text = " ".join(caption.astext().split())
        figure = nodes.figure()
        for (theme, size), file in names.items():
            classes = [f"only-{theme}", size, "drawn"]
            figure += nodes.image(uri=f"/drawn/{file}", alt=text, classes=classes, loading="lazy")
        if text:
            figure += nodes.caption(text, "", *caption.children[0].children)
        return [figure]


class Written(Directive):
    """Markdown from the function of that name."""

    required_arguments = 1

    def run(self):
        text = getattr(texts, self.arguments[0].replace("-", "_"))()
        self.state.document.settings.env.note_dependency(texts.__file__)
        node = nodes.section()
        node.document = self.state.document
        self.state.nested_parse(StringList(text.splitlines(), source=texts.__file__), 0, node, match_titles=1)
        return node.children


def setup(app):
    app.add_directive("drawn", Drawn)
    app.add_directive("written", Written)
