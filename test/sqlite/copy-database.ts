import { rm } from "node:fs/promises";
import { isBuiltin } from "node:module";

interface Database {
  backup(path: string): Promise<unknown>;
  close(): void;
}

/** Copies a database; what it returns puts the copy back. By SQLite's own backup, both ways: open connections see what the copy holds. */
export async function copyDatabase(path: string): Promise<() => Promise<void>> {
  const open = await opener();
  const copy = `${path}-copy`;
  const live = open(path);
  await live.backup(copy);
  live.close();
  return async () => {
    const kept = open(copy);
    await kept.backup(path);
    kept.close();
    await rm(copy);
  };
}

/** The SQLite that the backend uses on this Node: two in one process drop each other's locks. */
async function opener(): Promise<(path: string) => Database> {
  // Variables: one package has no types of its own, the other is not on every Node.
  const [own, client]: string[] = ["node:sqlite", "better-sqlite3"];
  if (own !== undefined && isBuiltin(own)) {
    const { DatabaseSync, backup } = (await import(own)) as NodeSqlite;
    return (path) => {
      const database = new DatabaseSync(path);
      return { backup: (target) => backup(database, target), close: () => database.close() };
    };
  }
  const { default: Client } = (await import(client ?? "")) as { readonly default: new (path: string) => Database };
  return (path) => new Client(path);
}

interface NodeSqlite {
  readonly DatabaseSync: new (path: string) => { close(): void };
  backup(database: object, target: string): Promise<unknown>;
}
