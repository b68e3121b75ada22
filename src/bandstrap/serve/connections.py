"""Connections: closed where a request does not arrive in time, or its head does not end."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from bandstrap.serve import limits


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
    """HTTP of uvicorn, which alone would wait for the rest of a request for ever, and read a head of any length."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin to look whether requests arrive."""
        super().connection_made(transport)
        self._n_unread = 0
        self._look(self)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        before = self.cycle
        super().data_received(data)
        is_head = self.cycle is before and (before is None or before.response_complete)
        self._n_unread = self._n_unread + len(data) if is_head else 0
        if self._n_unread > limits.BODY:
            self.transport.close()

    def _look(self, before: Any) -> None:
        """Close the connection if it waits for the same request as at the last look."""
        cycle = self.cycle
        if cycle is before and (cycle is None or cycle.response_complete or cycle.more_body):
            self.transport.close()
        elif not self.transport.is_closing():
            self.loop.call_later(limits.ARRIVAL, self._look, cycle)
