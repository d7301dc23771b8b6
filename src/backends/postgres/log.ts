import { randomBytes } from "node:crypto";
import type { LogCapabilities } from "../../checkpoint/log/thread-log.ts";
import { SqlLog } from "../../checkpoint/sql-log/sql-log.ts";
import type { Lease } from "../../driver/connection.ts";
import { unsupported } from "../../driver/driver.ts";
import { classify } from "./classify.ts";
import type { PostgresqlConnection } from "./connect.ts";
import { isDeclined } from "./declined.ts";
import { tableNames } from "./layout.ts";
import { ChangeListener, REGISTRATION_MS } from "./listener.ts";
import { openListener } from "./open-client.ts";
import { DEAD_ROWS } from "./scrubbing.ts";
import { type PostgresStorage, storageOf } from "./storage.ts";

export interface PostgresLogOptions {
  readonly connection: PostgresqlConnection;
  readonly schema: string;
  readonly tablePrefix: string;
  /** How many hits a search ranks at most. */
  readonly searchRanksUpTo: number;
}

const CAPABILITIES: LogCapabilities = {
  // Whatever its settings, the server outlives this process. The first contact may tell more.
  durability: "os",
  conditionalAppend: true,
  listThreads: true,
  ttl: true,
  maxRecordBytes: 64 * 1024 * 1024,
  maxChainRecords: Number.POSITIVE_INFINITY,
  callsTogether: 128,
  connects: true,
  search: "deferred",
  metadataQuery: true,
  clock: true,
};

/**
 * Threads in PostgreSQL. Every method is one statement, so each is atomic by itself
 * and needs no session. It works behind any pooler.
 */
export class PostgresLog extends SqlLog {
  readonly #listener: ChangeListener;
  readonly #storage: Lease<PostgresStorage>;

  constructor({ connection, schema, tablePrefix, searchRanksUpTo }: PostgresLogOptions) {
    const names = tableNames(schema, tablePrefix);
    const storage = connection.lease((handle) => storageOf(handle, names, searchRanksUpTo));
    // A watcher registers in a table, so that saves notify; one that may not write polls.
    const subscribe = connection.settings.access === "write";
    super({
      name: "postgres",
      secrets: () => connection.secrets,
      capabilities: { ...CAPABILITIES, ranksUpTo: searchRanksUpTo, subscribe },
      storage,
      classify,
      declined: isDeclined,
      remains: () => DEAD_ROWS,
    });
    this.#storage = storage;
    const watcher = randomBytes(12).toString("hex");
    this.#listener = new ChangeListener({
      channel: names.channel,
      open: () => openListener(connection.settings),
      register: async (threadIds) => {
        await this.current();
        return (await storage.get()).run("watch", threadIds, watcher, REGISTRATION_MS);
      },
      unregister: async (threadIds) => (await this.#storage.opened())?.run("unwatch", threadIds, watcher),
    });
  }

  override subscribe(threadId: string, onChange: () => void): () => void {
    if (!this.capabilities.subscribe) throw unsupported("subscribe");
    this.assertOpen();
    return this.#listener.subscribe(threadId, onChange);
  }

  protected override closeFirst(): Promise<void> {
    return this.#listener.close();
  }
}
