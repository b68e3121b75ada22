-- Live experiments in SQLite, version 2 of the schema: who an experiment is, and a chain of hashes over its log.
-- live_learned_1 is copied into live_learned, each entry with its link, and dropped by migration.py.

ALTER TABLE live_experiment ADD COLUMN identity TEXT NOT NULL DEFAULT '';  -- random

ALTER TABLE live_learned RENAME TO live_learned_1;
CREATE TABLE live_learned (
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,  -- reward, default, nothing, change
    decision TEXT UNIQUE,
    arm INTEGER,
    reward REAL,
    at REAL NOT NULL,
    link INTEGER NOT NULL,  -- a hash of the entry and of the link before it
    PRIMARY KEY (experiment, seq)
) WITHOUT ROWID;

-- Snapshots can be made again.
DROP TABLE live_snapshot;
CREATE TABLE live_snapshot (
    experiment INTEGER NOT NULL,
    version INTEGER NOT NULL,
    build TEXT NOT NULL,
    link INTEGER NOT NULL,  -- that of the entry "version" of the log: of another log the snapshot says nothing
    body TEXT NOT NULL,
    checksum TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (experiment, version, build)
);

-- Decisions whose rewards were taken back, by the entry of the log, a change, that says so.
CREATE TABLE live_void (
    decision TEXT PRIMARY KEY REFERENCES live_decision (id),
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL
);
