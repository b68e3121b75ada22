"""Runs that are going on in a folder: what each is at, and whether it still lives.

A run holds a lock while it lives, which the system takes back however it ends, and writes beside it, every few seconds,
what it is at. Where there are no locks, or the run is on another machine that shares none, one that has not been heard of
for a minute is taken for dead.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from bandstrap.basics.storage import NO_SEAL, fcntl, read_sealed, seal, write_bytes

# Seconds between two words of a run, and after which one that cannot be seen to live is taken for dead.
BEAT = 3.0
SILENCE = 60.0


@dataclass(frozen=True)
class Heartbeat:
    """Last report of a run."""

    host: str
    process: int
    workers: int
    started: float
    now: float
    # Decisions played since it started.
    decisions: int
    # Digests of the tasks it is at, and those that failed with the reason.
    running: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    lives: bool = True


class Run:
    """A run of this process: a context that says what it is at while it lasts."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._name = folder / uuid.uuid4().hex
        self._workers = workers
        self._started = time.time()
        self._decisions = 0
        self._running: dict[str, None] = {}
        self._failed: dict[str, str] = {}
        self._descriptor: int | None = None
        self._ended = threading.Event()
        self._speaking = threading.Lock()

    def __enter__(self) -> Run:
        self._name.parent.mkdir(parents=True, exist_ok=True)
        remove_dead(self._name.parent)
        self._descriptor = os.open(self._name.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o666)
        if fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        self.say()
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        with self._speaking:
            pass  # a word that is being written comes to its end
        self._running.clear()
        if self._failed:
            self.say()
        else:
            self._name.with_suffix(".json").unlink(missing_ok=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._name.with_suffix(".lock").unlink(missing_ok=True)

    def begins(self, key: str) -> None:
        """A task is about to be done."""
        self._running[key] = None

    def ends(self, key: str, decisions: int) -> None:
        """A task was done."""
        self._running.pop(key, None)
        self._failed.pop(key, None)
        self._decisions += decisions

    def fails(self, key: str, reason: str) -> None:
        """A task could not be done."""
        self._running.pop(key, None)
        self._failed[key] = reason

    def say(self) -> None:
        """Write what the run is at; nobody's work is lost if that fails."""
        content = {
            "host": platform.node(),
            "process": os.getpid(),
            "workers": self._workers,
            "started": self._started,
            "now": time.time(),
            "decisions": self._decisions,
            "running": list(self._running),
            "failed": dict(self._failed),
            "seal": NO_SEAL,
        }
        with contextlib.suppress(OSError):
            write_bytes(self._name.with_suffix(".json"), seal(json.dumps(content).encode()), lasting=False)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            with self._speaking, contextlib.suppress(RuntimeError):  # the lists changed while they were read
                if not self._ended.is_set():
                    self.say()


def words_of(folder: Path) -> Iterator[Heartbeat]:
    """Last reports of the runs of a folder, alive or dead."""
    for file in sorted(folder.glob("*.json")):
        try:
            content: dict[str, Any] = json.loads(read_sealed(file))
            content.pop("seal")
            content["running"] = tuple(content["running"])
            yield Heartbeat(**content, lives=is_alive(file))
        except (OSError, ValueError, KeyError, TypeError):  # it has just ended, or is not a run's
            continue


def is_alive(file: Path) -> bool:
    """Return whether the run that wrote a file goes on."""
    try:
        descriptor = os.open(file.with_suffix(".lock"), os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:  # not ours to open
        return is_recent(file)
    try:
        if fcntl is None:
            return is_recent(file)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return is_recent(file)
    finally:
        os.close(descriptor)
    return False


def is_recent(file: Path) -> bool:
    """Return whether a file was written within a minute."""
    try:
        return time.time() - file.stat().st_mtime < SILENCE
    except OSError:
        return False


def remove_dead(folder: Path) -> None:
    """Remove what runs left behind that were killed, or that failed: what they lacked is tried again."""
    for file in [*folder.glob("*.json"), *folder.glob("*.lock")]:
        # A lock is made, then taken, then written beside: one alone may be that of a run that has only just begun.
        if not is_alive(file) and (file.suffix == ".json" or not is_recent(file)):
            for each in (file, file.with_suffix(".lock")):
                with contextlib.suppress(OSError):  # removed by somebody else
                    each.unlink(missing_ok=True)
