import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { tableNames as postgresNames } from "../src/backends/postgres/layout.ts";
import {
  checkpoints as postgresCheckpoints,
  versionTable as postgresVersions,
} from "../src/backends/postgres/parts.ts";
import { tableNames as sqliteNames } from "../src/backends/sqlite/layout.ts";
import { checkpoints as sqliteCheckpoints, versionTable as sqliteVersions } from "../src/backends/sqlite/parts.ts";
import type { Part } from "../src/driver/migrations.ts";

const FOLDER = new URL("golden/ddl/", import.meta.url);

const inSqlite = sqliteNames("holdfast_");
const inPostgres = postgresNames("public", "holdfast_");

const PARTS: readonly (readonly [name: string, part: Part])[] = [
  ["sqlite-checkpoints", sqliteCheckpoints(inSqlite)],
  ["postgres-checkpoints", postgresCheckpoints(inPostgres)],
  ["postgres-partitioned-checkpoints", postgresCheckpoints(inPostgres, 2)],
];

const TABLES = { sqlite: sqliteVersions(inSqlite), postgres: postgresVersions(inPostgres) };

/** Every text that a released version may have executed, by the name of its file. */
const texts: Readonly<Record<string, readonly string[]>> = Object.fromEntries([
  ...PARTS.flatMap(([name, { migrations }]) =>
    migrations.map((statements, index) => [`${name}-v${index + 1}.sql`, statements] as const),
  ),
  ...Object.entries(TABLES).map(
    ([name, { create, write }]) => [`${name}-versions.sql`, [create, write("checkpoints", 1)]] as const,
  ),
]);

const EDITED =
  "the text of this migration is not what it was. Databases that ran the old text never run the new one: put the old " +
  "text back, and add a migration behind the last. (For one that was in no release: delete its golden file and run this " +
  "test with HOLDFAST_WRITE_GOLDEN=1)";

describe("a migration that was released is never edited", () => {
  test.each(Object.entries(texts))("%s", (file, statements) => {
    const text = statements.map((statement) => `${statement};\n`).join("\n");
    const path = new URL(file, FOLDER);
    if (process.env["HOLDFAST_WRITE_GOLDEN"] === "1" && !existsSync(path)) {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(path, text);
    }
    expect(existsSync(path), `${file} is missing: write it with HOLDFAST_WRITE_GOLDEN=1`).toBe(true);
    expect(text, EDITED).toBe(readFileSync(path, "utf8"));
  });

  test("and none is taken back", () => {
    expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(texts).sort());
  });
});
