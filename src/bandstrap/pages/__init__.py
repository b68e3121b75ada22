"""Shared parts of the HTML pages: look, frame and number formats."""

from bandstrap.pages.page import as_data, drawn_as_data, render_page, show_number, write_page

__all__ = ["as_data", "drawn_as_data", "render_page", "show_number", "write_page"]
