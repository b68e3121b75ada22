"""The site: Markdown pages, docstrings as they are, pages and pictures made by the code. ``make docs`` builds it.

Sphinx, because the docstrings are numpydoc with formulas and cross-references: it reads them as they are, and with ``-W``
and ``nitpicky`` a reference that leads nowhere stops the build, in a docstring as on a page. Its search and its pages work
from the disk, without a server. Formulas are set by MathJax, whose files come with a package and are copied into the
site: they look the same with any fonts, and nothing is asked of the network.
"""

import importlib
import inspect
import re
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.python import PyObject
from sphinx.errors import SphinxError
from sphinx.util.fileutil import copy_asset

import bandstrap.serve.app  # noqa: F401 - before autodoc, in whose imports pydantic cannot make the models of fastapi
from docs.making import checks, directives, markup, policies

project = "bandstrap"
author = "the authors of bandstrap"
version = release = version_of("bandstrap")
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["making", "built", "drawn", "jupyter_execute", "play"]
nitpicky = True
# Types in signatures and other packages' objects have no page here; what docstrings refer to in bandstrap must have one.
nitpick_ignore_regex = [("py:.*", r"(?!bandstrap\b).*")]

# --- text -------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are run by tests, and keep what they print
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
add_module_names = False
highlight_language = "text"
smartquotes = False  # --seed is not a dash, and code has straight quotes
maximum_signature_line_length = 80
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# --- looks ------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = "bandstrap"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#00609a"},
    "dark_css_variables": {"color-brand-primary": "#56B4E9", "color-brand-content": "#6cbcec"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
mathjax_path = "mathjax/tex-chtml.js"


def complete(app, error):
    """Copy the script that sets formulas with its fonts, and the page to play with, which is made of files of its own; then
    refuse a site with links that lead nowhere, or with anything that comes by network.
    """
    if error is None and app.builder.format == "html":
        shutil.rmtree(Path(app.outdir) / "play", ignore_errors=True)  # of an older build
        shutil.copytree(Path(app.srcdir) / "play", Path(app.outdir) / "play")
        files = Path(importlib.import_module("sphinx-mathjax-offline").__file__).parent / "static" / "mathjax"
        target = Path(app.outdir) / "_static" / "mathjax"
        fonts = Path("output/chtml/fonts/woff-v2")
        copy_asset(files / "tex-chtml.js", target)
        copy_asset(files / fonts, target / fonts)
        found = checks.problems(app.outdir)
        if found:
            raise SphinxError("\n".join(found))


def adapt_docstring(app, what, name, obj, options, lines):
    """References as a list of their own, since on a page of many docstrings each has a first one; attributes that are
    explained together under both names, of which Sphinx would take one for a type; and properties as they are written,
    of whose first words, up to a colon, napoleon would make a type.
    """
    if what == "property" and "---" not in (inspect.getdoc(obj) or ""):
        lines[:] = [*inspect.getdoc(obj).splitlines(), ""]
    for i, line in enumerate(lines):
        line = re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", line)
        line = re.sub(r"(\[\d+\])_", r"\1", line)  # numpydoc's way to name one, of which Sphinx would make a link
        lines[i] = re.sub(r"^:ivar ([\w, ]+):", lambda match: match[0].replace(", ", ","), line)


def set_fields(app, doctree):
    """Dashes between a parameter and its description, and spaces between names that are explained together."""
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" \N{EN DASH} "))
        elif isinstance(text.parent, addnodes.literal_strong) and "," in text:
            text.parent.replace(text, nodes.Text(re.sub(r",(?=\w)", ", ", text)))


def skip_fields(app, what, name, obj, skip, options):
    """Leave out fields of a NamedTuple, which its docstring explains together, and what pydantic adds to a model."""
    is_field = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if is_field or name in ("model_config", "model_post_init") else None


def set_formulas(app, page, source):
    """The page that spells its formulas with symbols, as they are typed, has them set."""
    if page == "theorem":
        source[0] = markup.page_with_formulas(source[0])


def setup(app):
    directives.setup(app)
    next(field for field in PyObject.doc_field_types if field.name == "variable").label = "Attributes"
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("doctree-read", set_fields)
    app.connect("source-read", set_formulas)
    app.connect("autodoc-process-docstring", adapt_docstring)
    app.connect("builder-inited", lambda app: policies.write(Path(app.srcdir) / "policies"))
    app.connect("build-finished", complete, priority=900)  # once the theme has done its part
