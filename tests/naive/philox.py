"""Philox4x64-10 of Salmon, Moraes, Dror and Shaw (2011), in Python's whole numbers."""

FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
STEPS = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
WORD = 2**64


def words(counter, key, n):
    """The first ``n`` words of a generator that stands at ``counter``: that of the next counter comes first."""
    found = []
    while len(found) < n:
        counter += 1
        x = [counter >> 64 * i & (WORD - 1) for i in range(4)]
        k = [int(part) for part in key]
        for _ in range(10):
            high0, low0 = divmod(FACTORS[0] * x[0], WORD)
            high1, low1 = divmod(FACTORS[1] * x[2], WORD)
            x = [high1 ^ x[1] ^ k[0], low1, high0 ^ x[3] ^ k[1], low0]
            k = [(part + step) % WORD for part, step in zip(k, STEPS, strict=True)]
        found += x
    return found[:n]
