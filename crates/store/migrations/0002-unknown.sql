-- Values missing in a report that was read are null. Neither SQLite nor a plain CREATE can drop
-- NOT NULL, so the tables are rebuilt.

CREATE TABLE measurement_2 (
    run_id     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal    BIGINT NOT NULL,
    phase      BIGINT NOT NULL,
    name       TEXT NOT NULL,
    source     TEXT NOT NULL,
    started_ns BIGINT,
    format     BIGINT NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (run_id, ordinal)
);
INSERT INTO measurement_2 SELECT * FROM measurement;

CREATE TABLE result_2 (
    run_id         TEXT NOT NULL,
    measurement    BIGINT NOT NULL,
    direction      TEXT NOT NULL,
    ios            BIGINT,
    bytes          BIGINT,
    errors         BIGINT,
    iops           DOUBLE PRECISION,
    iops_low       DOUBLE PRECISION,
    iops_high      DOUBLE PRECISION,
    bandwidth      DOUBLE PRECISION,
    bandwidth_low  DOUBLE PRECISION,
    bandwidth_high DOUBLE PRECISION,
    mean_ns        DOUBLE PRECISION,
    p50_ns         BIGINT,
    p99_ns         BIGINT,
    max_ns         BIGINT,
    PRIMARY KEY (run_id, measurement, direction),
    FOREIGN KEY (run_id, measurement) REFERENCES measurement_2 (run_id, ordinal) ON DELETE CASCADE
);
INSERT INTO result_2 SELECT * FROM result;

DROP TABLE result;
DROP TABLE measurement;
ALTER TABLE measurement_2 RENAME TO measurement;
ALTER TABLE result_2 RENAME TO result;
