-- States of prepared drives. They outlive the run that prepared them.

CREATE TABLE drive_state (
    id                 TEXT PRIMARY KEY,
    serial             TEXT NOT NULL,
    nsid               BIGINT NOT NULL,
    run_id             TEXT REFERENCES run (id) ON DELETE SET NULL,
    at_ns              BIGINT NOT NULL,
    state              TEXT NOT NULL,
    host_bytes_written BIGINT,
    format             BIGINT NOT NULL,
    body               TEXT NOT NULL
);
CREATE INDEX drive_state_drive ON drive_state (serial, nsid, at_ns);
