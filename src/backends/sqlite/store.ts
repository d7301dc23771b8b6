import type { Store } from "../../store/store.ts";
import { openedSqliteStore, type SqliteStoreOptions } from "./store-opening.ts";

export type { SqliteStoreOptions } from "./store-opening.ts";

/**
 * Keeps items in one SQLite file, beside threads or alone. Nothing to install on Node 22 and later.
 *
 * A file of its own, which no URL leads to: a bundler takes along what stands behind `holdfast/sqlite` and behind some
 * `import()` as well, so that a program with threads alone would load 60 kB of stores at its start.
 */
export const sqliteStore = (options: SqliteStoreOptions = {}): Store => openedSqliteStore(options);
