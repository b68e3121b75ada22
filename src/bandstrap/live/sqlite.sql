-- Live experiments in SQLite, version 1 of the schema. The same tables and columns as in postgres.sql.
-- Rows are only ever added, but for the queue and old snapshots. Times are seconds since 1970.

CREATE TABLE live_schema (version INTEGER NOT NULL);

CREATE TABLE live_experiment (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,  -- JSON
    created_at REAL NOT NULL,
    created_by TEXT NOT NULL
);

-- What decided: code, libraries and platform, by a digest of the three.
CREATE TABLE live_build (
    id TEXT PRIMARY KEY,
    code TEXT NOT NULL,
    libraries TEXT NOT NULL,
    platform TEXT NOT NULL
);

-- The id is a digest of the experiment's name and the key, so that it stands for the pair.
CREATE TABLE live_decision (
    id TEXT PRIMARY KEY,
    experiment INTEGER NOT NULL,
    key TEXT NOT NULL,
    unit TEXT,
    version INTEGER NOT NULL,
    source TEXT NOT NULL,  -- policy, shadow, holdout
    arm INTEGER NOT NULL,
    proposed INTEGER,
    propensity REAL NOT NULL,
    weights TEXT,  -- JSON
    available TEXT,  -- JSON
    context TEXT,  -- JSON
    deferred INTEGER NOT NULL,
    build TEXT NOT NULL,
    decided_at REAL NOT NULL
);
CREATE INDEX live_decision_in_time ON live_decision (experiment, decided_at, id);

CREATE TABLE live_activation (
    decision TEXT PRIMARY KEY REFERENCES live_decision (id),
    at REAL NOT NULL
);

CREATE TABLE live_reward (
    id INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL,
    decision TEXT NOT NULL REFERENCES live_decision (id),
    key TEXT NOT NULL,
    value REAL NOT NULL,
    received_at REAL NOT NULL,
    late INTEGER NOT NULL,  -- kept, but never learned
    UNIQUE (decision, key)
);

-- The log: entry 1, 2, 3, ... of each experiment.
CREATE TABLE live_learned (
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,  -- reward, default, nothing, change
    decision TEXT UNIQUE,
    arm INTEGER,
    reward REAL,
    at REAL NOT NULL,
    PRIMARY KEY (experiment, seq)
) WITHOUT ROWID;

-- Changes of arms and settings: what the entries of the log of kind "change" say.
CREATE TABLE live_change (
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at REAL NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,  -- JSON
    PRIMARY KEY (experiment, seq)
);

CREATE TABLE live_snapshot (
    experiment INTEGER NOT NULL,
    version INTEGER NOT NULL,
    build TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (experiment, version, build)
);

-- The queue: decisions to settle, each at its time; then its row is deleted.
CREATE TABLE live_pending (
    id INTEGER PRIMARY KEY,
    experiment INTEGER NOT NULL,
    decision TEXT NOT NULL,
    due REAL NOT NULL
);
CREATE INDEX live_pending_in_time ON live_pending (experiment, due, decision);
