-- Live experiments in PostgreSQL, version 1 of the schema. The same tables and columns as in sqlite.sql.
-- Rows are only ever added, but for the queue and old snapshots. Times are seconds since 1970.
-- Activations and rewards have no foreign key: whoever adds them has locked their decisions, and a key would lock each again.

CREATE TABLE live_schema (version BIGINT NOT NULL);

CREATE TABLE live_experiment (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,  -- JSON
    created_at DOUBLE PRECISION NOT NULL,
    created_by TEXT NOT NULL
);

-- What decided: code, libraries and platform, by a digest of the three.
CREATE TABLE live_build (
    id TEXT COLLATE "C" PRIMARY KEY,
    code TEXT NOT NULL,
    libraries TEXT NOT NULL,
    platform TEXT NOT NULL
);

-- The id is a digest of the experiment's name and the key, so that it stands for the pair.
CREATE TABLE live_decision (
    id TEXT COLLATE "C" PRIMARY KEY,
    experiment BIGINT NOT NULL,
    key TEXT NOT NULL,
    unit TEXT,
    version BIGINT NOT NULL,
    source TEXT NOT NULL,  -- policy, shadow, holdout
    arm BIGINT NOT NULL,
    proposed BIGINT,
    propensity DOUBLE PRECISION NOT NULL,
    weights TEXT,  -- JSON
    available TEXT,  -- JSON
    context TEXT,  -- JSON
    deferred BOOLEAN NOT NULL,
    build TEXT NOT NULL,
    decided_at DOUBLE PRECISION NOT NULL
);
CREATE INDEX live_decision_in_time ON live_decision (experiment, decided_at, id);

CREATE TABLE live_activation (
    decision TEXT COLLATE "C" PRIMARY KEY,
    at DOUBLE PRECISION NOT NULL
);

CREATE TABLE live_reward (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment BIGINT NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    key TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    received_at DOUBLE PRECISION NOT NULL,
    late BOOLEAN NOT NULL,  -- kept, but never learned
    UNIQUE (decision, key)
);

-- The log: entry 1, 2, 3, ... of each experiment.
CREATE TABLE live_learned (
    experiment BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,  -- reward, default, nothing, change
    decision TEXT COLLATE "C" UNIQUE,
    arm BIGINT,
    reward DOUBLE PRECISION,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, seq)
);

-- Changes of arms and settings: what the entries of the log of kind "change" say.
CREATE TABLE live_change (
    experiment BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,  -- JSON
    PRIMARY KEY (experiment, seq)
);

CREATE TABLE live_snapshot (
    experiment BIGINT NOT NULL,
    version BIGINT NOT NULL,
    build TEXT NOT NULL,
    body TEXT NOT NULL,
    checksum TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, version, build)
);

-- The queue: decisions to settle, each at its time; then its row is deleted.
CREATE TABLE live_pending (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    experiment BIGINT NOT NULL,
    decision TEXT COLLATE "C" NOT NULL,
    due DOUBLE PRECISION NOT NULL
);
CREATE INDEX live_pending_in_time ON live_pending (experiment, due, decision);
