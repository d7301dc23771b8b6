import type { LogCapabilities } from "../../checkpoint/log/thread-log.ts";
import { SqlLog } from "../../checkpoint/sql-log/sql-log.ts";
import { classify } from "./classify.ts";
import type { OracleConnection } from "./connect.ts";
import { isDeclined } from "./declined.ts";
import type { TableNames } from "./layout.ts";
import { REMAINS } from "./scrubbing.ts";
import { storageOf } from "./storage.ts";

export interface OracleLogOptions {
  readonly connection: OracleConnection;
  readonly names: TableNames;
  /** How many hits a search ranks at most. */
  readonly searchRanksUpTo: number;
}

const CAPABILITIES: LogCapabilities = {
  // A commit waits for the redo log. A standby cannot be seen from a session.
  durability: "fsync",
  conditionalAppend: true,
  listThreads: true,
  ttl: true,
  maxRecordBytes: 64 * 1024 * 1024,
  maxChainRecords: Number.POSITIVE_INFINITY,
  connects: true,
  search: "deferred",
  metadataQuery: true,
  clock: true,
};

/** Threads in Oracle Database. Each method is one block or one query, so it is atomic by itself. */
export class OracleLog extends SqlLog {
  constructor({ connection, names, searchRanksUpTo }: OracleLogOptions) {
    super({
      name: "oracle",
      secrets: () => connection.secrets,
      capabilities: { ...CAPABILITIES, ranksUpTo: searchRanksUpTo },
      storage: connection.lease((handle) => storageOf(handle, names, searchRanksUpTo)),
      classify,
      declined: isDeclined,
      remains: () => REMAINS,
    });
  }
}
