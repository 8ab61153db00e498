-- Makes iodyno's tables in a database, or brings them to this version; what is done already is left alone:
--   psql -d fleet -f deploy/postgres/migrate.sql
-- By a role that may create schemas and roles; it owns the tables. All of it is done, or nothing.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
BEGIN;
-- One migration at a time.
DO $$ BEGIN PERFORM pg_advisory_xact_lock(hashtext('iodyno')); END $$;

CREATE SCHEMA IF NOT EXISTS iodyno;
CREATE TABLE IF NOT EXISTS iodyno.version (
    number int PRIMARY KEY,
    applied timestamptz NOT NULL DEFAULT now()
);

-- A file for each version. Files that were released do not change.
SELECT NOT EXISTS (SELECT FROM iodyno.version WHERE number = 1) AS missing \gset
\if :missing
    \ir 0001-documents.sql
    INSERT INTO iodyno.version (number) VALUES (1);
\endif

COMMIT;
