import type { PostgresPlace } from "./postgres-place.ts";

/** Copies the tables of a schema whose names begin like this; what it returns puts the copies back, as a restored backup does. */
export async function copyTables(
  sql: PostgresPlace["sql"],
  schema: string,
  prefix: string,
): Promise<() => Promise<void>> {
  const found = await sql(
    "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = $1 AND tablename ~* $2",
    [schema, `^${prefix}`],
  );
  const copies = found.map(({ name }, index) => ({
    table: `${schema}.${name}`,
    copy: `${schema}.copied_${index}_of_${prefix.replaceAll(/\W/g, "")}`,
  }));
  for (const { table, copy } of copies) await sql(`CREATE TABLE ${copy} AS TABLE ${table}`);
  return async () => {
    // One text is one transaction. Without triggers, the order of the tables does not matter.
    await sql(
      [
        "SET LOCAL session_replication_role = replica",
        `TRUNCATE ${copies.map(({ table }) => table).join(", ")}`,
        ...copies.map(({ table, copy }) => `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${copy}`),
        ...copies.map(({ copy }) => `DROP TABLE ${copy}`),
      ].join("; "),
    );
  };
}
