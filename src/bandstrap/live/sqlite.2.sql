-- Live experiments in SQLite, version 2 of the schema: who an experiment is, a chain of hashes over its log, and rows that
-- name decisions by numbers and texts by hashes, in half the space. migration.py copies the rows and drops the old tables.

ALTER TABLE live_experiment ADD COLUMN identity TEXT NOT NULL DEFAULT '';  -- random

ALTER TABLE live_decision RENAME TO live_decision_1;
ALTER TABLE live_activation RENAME TO live_activation_1;
ALTER TABLE live_reward RENAME TO live_reward_1;
ALTER TABLE live_learned RENAME TO live_learned_1;
ALTER TABLE live_pending RENAME TO live_pending_1;
DROP INDEX live_pending_in_time;

-- Texts that many decisions share, each once, by the first 64 bits of its BLAKE2b.
CREATE TABLE live_text (
    hash INTEGER PRIMARY KEY,
    body TEXT NOT NULL
);

-- The id is a digest of the experiment's name and the key, so that it stands for the pair; the number is for this database.
CREATE TABLE live_decision (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    experiment INTEGER NOT NULL,
    key TEXT NOT NULL,
    unit TEXT,
    version INTEGER NOT NULL,
    source TEXT NOT NULL,  -- policy, shadow, holdout
    arm INTEGER NOT NULL,
    proposed INTEGER,
    propensity REAL NOT NULL,
    weights INTEGER,  -- a text, JSON, of a decision among arms
    own_weights TEXT,  -- JSON, of one among actions, which no other has
    available INTEGER,  -- a text, JSON
    context TEXT,  -- JSON
    deferred INTEGER NOT NULL,
    build INTEGER NOT NULL,  -- a text, the id of a build
    decided_at REAL NOT NULL
);
CREATE INDEX live_decision_by_time ON live_decision (experiment, decided_at);

CREATE TABLE live_activation (
    decision INTEGER PRIMARY KEY REFERENCES live_decision (number),
    at REAL NOT NULL
);

CREATE TABLE live_reward (
    id INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL,
    decision INTEGER NOT NULL REFERENCES live_decision (number),
    key TEXT NOT NULL,
    value REAL NOT NULL,
    received_at REAL NOT NULL,
    late INTEGER NOT NULL,  -- kept, but never learned
    UNIQUE (decision, key)
);

CREATE TABLE live_learned (
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,  -- reward, default, nothing, change
    decision INTEGER UNIQUE,
    arm INTEGER,
    reward REAL,
    at REAL NOT NULL,
    link INTEGER NOT NULL,  -- a hash of the entry and of the link before it
    PRIMARY KEY (experiment, seq)
) WITHOUT ROWID;

CREATE TABLE live_pending (
    id INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL,
    decision INTEGER NOT NULL,
    due REAL NOT NULL
);
CREATE INDEX live_pending_in_time ON live_pending (experiment, due, decision);

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
    decision INTEGER PRIMARY KEY REFERENCES live_decision (number),
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL
);
