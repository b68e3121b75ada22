"""A decision service over HTTP, and a board to watch experiments on: :mod:`bandstrap.live` without Python.

``bandstrap serve`` and ``bandstrap board`` start both; :func:`bandstrap.serve.app.make_app` is the application itself.
"""
