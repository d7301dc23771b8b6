import { rm } from "node:fs/promises";

interface Database {
  backup(path: string): Promise<unknown>;
  close(): void;
}

/** Copies a database; what it returns puts the copy back. By SQLite's own backup, both ways: open connections see what the copy holds. */
export async function copyDatabase(path: string): Promise<() => Promise<void>> {
  // The package has no types of its own.
  const name: string = "better-sqlite3";
  const { default: Client } = (await import(name)) as { readonly default: new (path: string) => Database };
  const copy = `${path}-copy`;
  const live = new Client(path);
  await live.backup(copy);
  live.close();
  return async () => {
    const kept = new Client(copy);
    await kept.backup(path);
    kept.close();
    await rm(copy);
  };
}
