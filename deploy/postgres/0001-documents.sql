-- Documents of `iodyno accept`, by who pushed them. A node adds rows under its own login and does nothing else: it
-- cannot state the owner, change or remove a row, or see another's.

CREATE TABLE iodyno.document (
    owner name NOT NULL DEFAULT session_user,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    pushed timestamptz NOT NULL DEFAULT now(),
    -- As it was pushed, to the byte: json keeps what jsonb orders anew. iodyno reads no longer one.
    body json NOT NULL CHECK (octet_length(body::text) <= 268435456),
    PRIMARY KEY (owner, name)
);

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'iodyno_node') THEN
        CREATE ROLE iodyno_node NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'iodyno_reader') THEN
        CREATE ROLE iodyno_reader NOLOGIN;
    END IF;
END
$$;

-- session_user and not current_user: who logged in cannot become another by SET ROLE.
ALTER TABLE iodyno.document ENABLE ROW LEVEL SECURITY;
CREATE POLICY push ON iodyno.document FOR INSERT TO iodyno_node WITH CHECK (owner = session_user);
CREATE POLICY own ON iodyno.document FOR SELECT TO iodyno_node USING (owner = session_user);
CREATE POLICY read ON iodyno.document FOR SELECT TO iodyno_reader USING (true);

GRANT USAGE ON SCHEMA iodyno TO iodyno_node, iodyno_reader;
GRANT SELECT ON iodyno.version TO iodyno_node, iodyno_reader;
GRANT SELECT, INSERT (name, body) ON iodyno.document TO iodyno_node;
GRANT SELECT ON iodyno.document TO iodyno_reader;
