"""Metrics for Prometheus: decisions, rewards, commits, latency, lag and the entropy of weights."""

from __future__ import annotations

import os
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

# Where worker processes put their numbers together; set by ``bandstrap serve --workers``.
SHARED = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The metrics of one process; with several workers those of all are shown."""

    def __init__(self) -> None:
        # Each application has a registry of its own: several may run in one process.
        self.registry = CollectorRegistry()
        self._labelled: dict[tuple[Any, tuple[str, ...]], Any] = {}
        own: dict[str, Any] = {"registry": self.registry, "namespace": "bandstrap"}
        self.decisions = Counter("decisions", "Decisions answered.", ["experiment", "arm", "source"], **own)
        self.rewards = Counter("rewards", "Rewards by outcome.", ["experiment", "outcome"], **own)
        self.forced = Counter("forced", "Arms served by force, as clients reported.", ["experiment", "outcome"], **own)
        self.refusals = Counter("refusals", "Requests refused.", ["status"], **own)
        self.batch = Histogram(
            "commit_calls",
            "Calls stored per transaction.",
            ["kind"],
            buckets=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
            **own,
        )
        self.commit = Histogram("commit_seconds", "Time of one transaction.", ["kind"], **own)
        self.latency = Histogram("request_seconds", "Time of one request.", ["route"], **own)
        gauges = own | {"multiprocess_mode": "max"}
        self.lag = Gauge("lag_refreshes", "Age of a worker's state in intervals of refresh.", ["experiment"], **gauges)
        self.entropy = Gauge(
            "weight_entropy", "Entropy of the weights divided by that of equal weights.", ["experiment"], **gauges
        )

    def labelled(self, metric: Any, *labels: str) -> Any:
        """Part of a metric with these labels, found by one look."""
        key = metric, labels
        if key not in self._labelled:
            self._labelled[key] = metric.labels(*labels)
        return self._labelled[key]

    def note_request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self.labelled(self.latency, route).observe(seconds)
        if status >= 400:
            self.refusals.labels(str(status)).inc()

    def note_commit(self, calls: int, kind: str, seconds: float) -> None:
        """Count one transaction."""
        self.labelled(self.batch, kind).observe(calls)
        self.labelled(self.commit, kind).observe(seconds)

    def render(self) -> tuple[bytes, str]:
        """The text that Prometheus reads, and its media type."""
        registry = self.registry
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST
