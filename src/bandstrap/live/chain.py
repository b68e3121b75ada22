"""The hash chain over a log: a number for each entry that stands for it and for all entries before it.

Link 0 is a hash of the experiment's identity, which is random; link ``i`` is a hash of link ``i - 1`` and of entry ``i``:
the first 64 bits of BLAKE2b, as a signed number, which both databases keep in eight bytes. Two logs that agree in a link
agree up to there, but for a probability of 2^-64. The chain tells histories apart, and finds damage; it is no proof against
somebody who may write the tables, who can compute it as well.
"""

from __future__ import annotations

import functools
import hashlib
import secrets

from bandstrap.live.rows import LogEntry
from bandstrap.live.weights import encoded


def new_identity(name: str, definition: str, created_by: str) -> str:
    """The identity of an experiment: no other has the same. It ends with a hash of what was created.

    >>> is_identity_of(new_identity("shop", "{}", "ann"), "shop", "{}", "ann")
    True
    """
    random = secrets.token_hex(16)
    return random + digest_of(random, name, definition, created_by)


def is_identity_of(identity: str, name: str, definition: str, created_by: str) -> bool:
    """Return whether an identity was made with this name, definition and creator."""
    random = identity[:32]
    return identity == random + digest_of(random, name, definition, created_by)


def digest_of(*words: str) -> str:
    """64 bits of BLAKE2b in 16 characters."""
    return hashlib.blake2b(encoded(*words), digest_size=8).hexdigest()


def first_link(identity: str) -> int:
    """The link before the first entry."""
    return hashed(encoded(identity))


def next_link(link: int, entry: LogEntry) -> int:
    """The link of an entry, given that of the entry before it.

    >>> entry = LogEntry(1, "reward", "id", 0, 1.0, None, None, None)
    >>> next_link(first_link("a"), entry) == next_link(first_link("b"), entry)
    False
    """
    reward = "" if entry.reward is None else (entry.reward + 0.0).hex()  # SQLite keeps no negative zero
    arm = "" if entry.arm is None else entry.arm
    words = (entry.decision, entry.action, entry.change, entry.context)
    return hashed(encoded(link, entry.seq, entry.kind, arm, reward, *(word or "" for word in words)))


@functools.lru_cache(maxsize=128)
def hash_of(text: str) -> int:
    """Hash under which a text shared by decisions is stored."""
    return hashed(text.encode())


def hashed(data: bytes) -> int:
    """64 bits of BLAKE2b as a number from -2^63 to 2^63 - 1."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
