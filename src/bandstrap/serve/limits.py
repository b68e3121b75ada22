"""Limits of the service; the OpenAPI document and the answers that refuse more name these numbers."""

from __future__ import annotations

# Bytes of a request.
BODY = 1 << 20
# Seconds that a request may take to arrive; after twice as many its connection is closed.
ARRIVAL = 10.0
# Decisions, rewards or imports of one request.
ITEMS = 1_000
# Calls that wait to be committed; more are refused with 503.
QUEUE = 10_000
# Calls that one transaction commits.
BATCH = 512
# Connections to a server's database that write, and as many that read, for each worker; experiments share them.
CONNECTIONS = 4
# Reports that are made at once; more wait.
REPORTS = 4
# Requests of one token, per second on average, and at once; more are refused with 429.
RATE = 2_000.0
BURST = 10_000.0
# Entries of the log in one answer.
LOG = 1_000
# Seconds after which a token that was revoked elsewhere is refused.
REVOCATION = 5.0
# Seconds between two notes of a token's last use.
LAST_USED = 60.0
# Refreshes that processing may be behind before the service says that it is not ready.
LAG = 10
