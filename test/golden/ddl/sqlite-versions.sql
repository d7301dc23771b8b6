CREATE TABLE holdfast_schema (part TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) STRICT;

INSERT INTO holdfast_schema (part, version) VALUES ('checkpoints', 1) ON CONFLICT (part) DO UPDATE SET version = excluded.version;
