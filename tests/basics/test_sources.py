"""What a user's own modules depend on is found by following imports."""

import ast
import sys

import pytest

import bandstrap.basics.sources as module
from bandstrap.basics.sources import code_digest, names_in, reachable, versions


@pytest.mark.parametrize("library", ["numpy", "numba", "scipy", "python"])
def test_the_versions_of_what_computes_belong_to_the_digest(monkeypatch, library):
    before = code_digest.__wrapped__("battery")
    text = versions()
    assert f"{library} " in text
    monkeypatch.setattr(module, "versions", lambda: text.replace(f"{library} ", f"{library} 0."))
    assert code_digest.__wrapped__("battery") != before


def test_what_only_type_checkers_import_is_left_out_and_what_they_do_not_see_or_comes_late_is_not():
    tree = ast.parse(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import one\nelse:\n    import two\n"
        "if typing.TYPE_CHECKING:\n    import one\nif not TYPE_CHECKING:\n    import hidden\n"
        "if not typing.TYPE_CHECKING:\n    import behind\nif two.here or typing.TYPE_CHECKING:\n    import either\n"
        "def f():\n    from . import three\n    from ..four import five\n"
    )
    assert list(names_in(tree, "top.pack")) == [
        "typing.TYPE_CHECKING",
        "typing",
        "two",
        "hidden",
        "behind",
        "either",
        "top.pack.three",
        "top.pack",
        "top.four.five",
        "top.four",
    ]


def test_modules_beside_a_file_come_first_and_libraries_and_this_package_are_left_out(tmp_path):
    (tmp_path / "beside.py").write_text("import numpy, json\nimport deeper.inner\n")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "__init__.py").write_text("")
    (tmp_path / "deeper" / "inner.py").write_text("from deeper import sibling\n")
    (tmp_path / "deeper" / "sibling.py").write_text("")
    found = [source.name for source in reachable(["beside", "scipy", "bandstrap.names", "nowhere_at_all"], tmp_path)]
    assert found == ["beside", "deeper", "deeper.inner", "deeper.sibling"]
    assert "beside" not in sys.modules


def test_a_library_of_another_environment_is_neither_followed_nor_run(tmp_path, monkeypatch):
    inner = tmp_path / "site-packages" / "far_library" / "inner"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("")
    (inner / "__init__.py").write_text("raise SystemExit('run to find out what it is')\n")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    assert reachable(["far_library.inner.something"], tmp_path / "elsewhere") == []
