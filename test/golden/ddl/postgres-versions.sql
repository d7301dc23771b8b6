CREATE TABLE "public"."holdfast_schema" (part text PRIMARY KEY, version integer NOT NULL);

INSERT INTO "public"."holdfast_schema" (part, version) VALUES ('checkpoints', 1) ON CONFLICT (part) DO UPDATE SET version = excluded.version;
