import type { SqliteDatabase, SqliteValue } from "../src/backends/sqlite/connect.ts";

/** What is seen of a statement before it runs. */
type Look = (sql: string, values: readonly SqliteValue[]) => void;

/** The database, with a look at every prepared statement before it runs: one that changes (`onRun`), one that lists (`onAll`). */
export function observedDatabase(
  inner: SqliteDatabase,
  { onRun, onAll }: { readonly onRun?: Look; readonly onAll?: Look },
): SqliteDatabase {
  return {
    exec: (sql) => inner.exec(sql),
    close: () => inner.close(),
    prepare: (sql) => {
      const statement = inner.prepare(sql);
      return {
        run: (...values) => {
          onRun?.(sql, values);
          return statement.run(...values);
        },
        get: (...values) => statement.get(...values),
        all: (...values) => {
          onAll?.(sql, values);
          return statement.all(...values);
        },
      };
    },
  };
}
