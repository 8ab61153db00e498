-- Column types that PostgreSQL also has; keys are UUIDv7 as text; times in ns.
-- `body` is authoritative (JSON of the model); other columns serve lists.

CREATE TABLE run (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    state         TEXT NOT NULL,
    started_ns    BIGINT NOT NULL,
    owner_pid     BIGINT NOT NULL,
    owner_boot_id TEXT NOT NULL,
    format        BIGINT NOT NULL,
    body          TEXT NOT NULL
);
CREATE UNIQUE INDEX run_name ON run (name) WHERE name <> '';

CREATE TABLE snapshot (
    run_id   TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal  BIGINT NOT NULL,
    taken_ns BIGINT NOT NULL,
    format   BIGINT NOT NULL,
    body     TEXT NOT NULL,
    PRIMARY KEY (run_id, ordinal)
);

CREATE TABLE measurement (
    run_id     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal    BIGINT NOT NULL,
    phase      BIGINT NOT NULL,
    name       TEXT NOT NULL,
    source     TEXT NOT NULL,
    started_ns BIGINT NOT NULL,
    format     BIGINT NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (run_id, ordinal)
);

CREATE TABLE result (
    run_id         TEXT NOT NULL,
    measurement    BIGINT NOT NULL,
    direction      TEXT NOT NULL,
    ios            BIGINT NOT NULL,
    bytes          BIGINT NOT NULL,
    errors         BIGINT NOT NULL,
    iops           DOUBLE PRECISION NOT NULL,
    iops_low       DOUBLE PRECISION,
    iops_high      DOUBLE PRECISION,
    bandwidth      DOUBLE PRECISION NOT NULL,
    bandwidth_low  DOUBLE PRECISION,
    bandwidth_high DOUBLE PRECISION,
    mean_ns        DOUBLE PRECISION,
    p50_ns         BIGINT,
    p99_ns         BIGINT,
    max_ns         BIGINT,
    PRIMARY KEY (run_id, measurement, direction),
    FOREIGN KEY (run_id, measurement) REFERENCES measurement (run_id, ordinal) ON DELETE CASCADE
);

CREATE TABLE assessment (
    run_id  TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    ruleset TEXT NOT NULL,
    format  BIGINT NOT NULL,
    body    TEXT NOT NULL
);

CREATE TABLE journal (
    run_id  TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal BIGINT NOT NULL,
    done    BOOLEAN NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (run_id, ordinal)
);
