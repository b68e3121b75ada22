"""Background work of a service: alerts, and the erasure of what is too old."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bandstrap.errors import InvalidInput
from bandstrap.live import StoreError
from bandstrap.live.erasure import erase_before, erase_forced
from bandstrap.serve.alerts import EVERY, are_rewards_due, check_address, find_alerts, tell

if TYPE_CHECKING:
    from bandstrap.serve.hub import Hub

LOG = logging.getLogger("bandstrap.serve")


class Chores:
    """A thread that looks every minute, from the start of a service to its end."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self._end = hub, threading.Event()
        self._address = hub.options.alert_url
        if self._address is not None:
            check_address(self._address)
        self._thread = threading.Thread(target=self._work, name="chores", daemon=True)
        if self._address is not None or hub.options.retain is not None:
            self._thread.start()

    def close(self) -> None:
        """End, after what is under way."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while True:
            self.once()
            if self._end.wait(EVERY):
                return

    def once(self) -> None:
        """Do all chores; what fails is told in the log, and done again in a minute."""
        names: list[str] = []
        with told():
            names = self._hub.store.experiments()
        for name in names:
            for chore in (self._erase, self._look):
                with told():
                    chore(name)

    def _erase(self, name: str) -> None:
        """Erase the units and keys of an experiment that are too old."""
        store, retain = self._hub.store, self._hub.options.retain
        row = store.experiment(name)
        if retain is not None and row is not None:
            erase_before(store, row.id, retain)
            erase_forced(store, row.id, None, retain)

    def _look(self, name: str) -> None:
        """Post the alerts of an experiment."""
        store = self._hub.store
        row = store.experiment(name)
        if self._address is None or self._end.is_set() or row is None:
            return
        status, readout, entropy = self._hub.told(name)
        are_due = functools.partial(are_rewards_due, store, row.id, status.settings["window"])
        for alert in find_alerts(status, readout, entropy, time.time(), are_due):
            tell(store, self._address, alert)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Let a failure be told in the log, so that other chores are done all the same."""
    try:
        yield
    except (StoreError, InvalidInput) as error:
        LOG.warning("%s", error)
    except Exception:
        LOG.exception("A chore failed")
