import type { LogCapabilities } from "../../checkpoint/log/thread-log.ts";
import { SqlLog } from "../../checkpoint/sql-log/sql-log.ts";
import { classify } from "./classify.ts";
import type { OracleConnection } from "./connect.ts";
import { isDeclined } from "./declined.ts";
import type { TableNames } from "./layout.ts";
import { remainsWith } from "./scrubbing.ts";
import { storageOf } from "./storage.ts";

export interface OracleLogOptions {
  readonly connection: OracleConnection;
  readonly names: TableNames;
  /** Whether to create the text index if there is none. */
  readonly textIndex: boolean;
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
  metadataQuery: true,
  clock: true,
};

/** Threads in Oracle Database. Each method is one block or one query, so it is atomic by itself. */
export class OracleLog extends SqlLog {
  constructor({ connection, names, textIndex }: OracleLogOptions) {
    super({
      name: "oracle",
      secrets: () => connection.secrets,
      capabilities: CAPABILITIES,
      storage: connection.lease((handle) =>
        storageOf(handle, names, { createsIndex: textIndex && connection.access !== "read" }),
      ),
      classify,
      declined: isDeclined,
      remains: ({ search }) => remainsWith(search !== undefined),
    });
  }
}
