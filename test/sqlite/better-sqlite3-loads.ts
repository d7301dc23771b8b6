import { createRequire } from "node:module";

/** better-sqlite3 is built for the Node that installed it, and where Node has its own SQLite not at all: then it does not load. */
export const betterSqlite3Loads: boolean = loads();

function loads(): boolean {
  try {
    const Database = createRequire(import.meta.url)("better-sqlite3") as new (path: string) => { close(): void };
    new Database(":memory:").close();
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_DLOPEN_FAILED" || message.startsWith("Could not locate the bindings")) return false;
    throw error;
  }
}
