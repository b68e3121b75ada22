"""Background work of a service: alerts, and the erasure of what is too old."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from bandstrap.errors import InvalidInput
from bandstrap.live import StoreError
from bandstrap.live.erasure import erase_before, erase_forced
from bandstrap.serve.alerts import EVERY, Alarm, find_alerts

if TYPE_CHECKING:
    from bandstrap.serve.hub import Hub

LOG = logging.getLogger("bandstrap.serve")


class Chores:
    """A thread that looks every minute, from the start of a service to its end."""

    def __init__(self, hub: Hub) -> None:
        self._hub, self._end = hub, threading.Event()
        url = hub.options.alert_url
        self._alarm = None if url is None else Alarm(url)
        self._thread = threading.Thread(target=self._work, name="chores", daemon=True)
        if self._alarm is not None or hub.options.retain is not None:
            self._thread.start()

    def close(self) -> None:
        """End, after what is under way."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while True:
            try:
                self.once()
            except (StoreError, InvalidInput) as error:
                LOG.warning("%s", error)
            except Exception:  # it is done again in a minute
                LOG.exception("A chore failed")
            if self._end.wait(EVERY):
                return

    def once(self) -> None:
        """Do all chores."""
        store, retain = self._hub.store, self._hub.options.retain
        for name in store.experiments():
            row = store.experiment(name)
            if retain is not None and row is not None:
                erase_before(store, row.id, retain)
                erase_forced(store, row.id, None, retain)
            if self._alarm is not None and not self._end.is_set():
                status, readout, entropy = self._hub.told(name)
                for alert in find_alerts(status, readout, entropy, time.time()):
                    self._alarm.tell(alert)
