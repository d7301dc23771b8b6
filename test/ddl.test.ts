import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  checkpoints as mysqlCheckpoints,
  tableNames as mysqlNames,
  versionTable as mysqlVersions,
} from "../src/backends/mysql/layout.ts";
import { INDEX_MARK, indexBody } from "../src/backends/opensearch/layout.ts";
import { tableNames as oracleNames, saverTableNames } from "../src/backends/oracle/layout.ts";
import {
  checkpoints as oracleCheckpoints,
  logDeployment as oracleLog,
  store as oracleStore,
  vectors as oracleVectors,
  versionTable as oracleVersions,
} from "../src/backends/oracle/parts.ts";
import { storeTables as oracleStoreTables } from "../src/backends/oracle/store-layout.ts";
import { tableNames as postgresNames } from "../src/backends/postgres/layout.ts";
import {
  checkpoints as postgresCheckpoints,
  store as postgresStore,
  versionTable as postgresVersions,
} from "../src/backends/postgres/parts.ts";
import { tableNames as sqliteNames } from "../src/backends/sqlite/layout.ts";
import {
  checkpoints as sqliteCheckpoints,
  store as sqliteStore,
  versionTable as sqliteVersions,
} from "../src/backends/sqlite/parts.ts";
import type { Part } from "../src/driver/migrations.ts";

const FOLDER = new URL("golden/ddl/", import.meta.url);

const inSqlite = sqliteNames("holdfast_");
const inPostgres = postgresNames("public", "holdfast_");
const inMysql = mysqlNames("holdfast_");
const inOracle = oracleNames("HOLDFAST");

const [, oracleSaver] = oracleLog(saverTableNames("HOLDFAST")).parts;
if (oracleSaver === undefined) throw new Error("a saver in Oracle Database has a part of its own");

const PARTS: readonly (readonly [name: string, part: Part])[] = [
  ["sqlite-checkpoints", sqliteCheckpoints(inSqlite)],
  ["oracle-checkpoints", oracleCheckpoints(inOracle)],
  ["oracle-saver", oracleSaver],
  ["oracle-store", oracleStore(oracleStoreTables("HOLDFAST_STORE"))],
  ["oracle-vectors", oracleVectors(oracleStoreTables("HOLDFAST_STORE"), 1024)],
  ["sqlite-store", sqliteStore(inSqlite)],
  ["mysql-checkpoints", mysqlCheckpoints(inMysql)],
  ["postgres-store", postgresStore(inPostgres)],
  ["postgres-checkpoints", postgresCheckpoints(inPostgres)],
  ["postgres-partitioned-checkpoints", postgresCheckpoints(inPostgres, 2)],
];

const TABLES = {
  sqlite: sqliteVersions(inSqlite),
  postgres: postgresVersions(inPostgres),
  mysql: mysqlVersions(inMysql),
  oracle: oracleVersions(inOracle),
};

/** Statements that a released version may have executed, by the name of their file. */
const statements: Readonly<Record<string, readonly string[]>> = Object.fromEntries([
  ...PARTS.flatMap(([name, { migrations }]) =>
    migrations.map((migration, index) => [`${name}-v${index + 1}.sql`, migration] as const),
  ),
  ...Object.entries(TABLES).map(
    ([name, { create, write }]) => [`${name}-versions.sql`, [create, write("checkpoints", 1)]] as const,
  ),
]);

/** The mapping of an index is its schema. */
const mapping = [
  `opensearch-${INDEX_MARK.part}-v${INDEX_MARK.version}.json`,
  `${JSON.stringify(indexBody({ shards: 1, replicas: 1 }), null, 2)}\n`,
] as const;

const texts: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(statements).map(
    ([file, list]) => [file, list.map((statement) => `${statement};\n`).join("\n")] as const,
  ),
  mapping,
]);

const EDITED =
  "this text was released and is not what it was. Databases that ran the old one never run the new one: put the old " +
  "text back, and add a migration behind the last. (For one that was in no release: delete its golden file and run this " +
  "test with HOLDFAST_WRITE_GOLDEN=1)";

describe("a migration that was released is never edited", () => {
  test.each(Object.entries(texts))("%s", (file, text) => {
    const path = new URL(file, FOLDER);
    if (process.env["HOLDFAST_WRITE_GOLDEN"] === "1" && !existsSync(path)) {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(path, text);
    }
    expect(existsSync(path), `${file} is missing: write it with HOLDFAST_WRITE_GOLDEN=1`).toBe(true);
    expect(text, EDITED).toBe(readFileSync(path, "utf8"));
  });

  test("no golden file is left without its migration", () => {
    expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(texts).sort());
  });
});
