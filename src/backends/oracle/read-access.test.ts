import { expect, test } from "vitest";
import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { oracleCheckpointer } from "./index.ts";

await describeWithStandIn((place) => {
  const { dsn, user, password, sql } = place;

  /** Every row of every table with the transactions that wrote it. */
  async function contents(): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    const tables = await sql(
      "SELECT c.oid::regclass::text AS name, c.relkind, c.xmin::text AS version FROM pg_class c WHERE c.relnamespace = to_regnamespace($1)::oid ORDER BY 1",
      [user],
    );
    for (const { name, relkind, version } of tables) {
      const rows =
        relkind === "r" ? await sql(`SELECT t.ctid, t.xmin, t.xmax, t::text AS row FROM ${name} t ORDER BY ctid`) : [];
      found[String(name)] = JSON.stringify([relkind, version, rows]);
    }
    return found;
  }

  const store = async (): Promise<ObservedStore> => {
    const tableName = place.tableName();
    const open = (options?: CheckpointerOptions) => oracleCheckpointer({ ...options, dsn, user, password, tableName });
    return { open, contents };
  };

  testReadAccess({ name: "Oracle Database", create: store, missing: store });

  test("a user who may SELECT and nothing else is enough for everything that reads", async () => {
    const tableName = place.tableName();
    const writer = oracleCheckpointer({ dsn, user, password, tableName });
    const filled = await fillStore(writer);
    const other = await place.addUser();
    await sql(`GRANT SELECT ON ALL TABLES IN SCHEMA ${user} TO ${other.user}`);
    const reader = oracleCheckpointer({ ...other, dsn, tableName: `${user}.${tableName}`, access: "read" });
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    expect((await reader.load("long"))?.messages).toHaveLength(70);
    await reader.close();
    await writer.close();
  });
});
