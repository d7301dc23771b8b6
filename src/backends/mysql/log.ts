import type { LogCapabilities } from "../../checkpoint/log/thread-log.ts";
import type { Row, SqlText, Values } from "../../checkpoint/sql-log/dialect.ts";
import { memberOf, withMember } from "../../checkpoint/sql-log/members.ts";
import { PlainChanges } from "../../checkpoint/sql-log/plain-changes.ts";
import { reads } from "../../checkpoint/sql-log/reads.ts";
import { SqlLog, type SqlStorage } from "../../checkpoint/sql-log/sql-log.ts";
import { type ReadWords, searchStatements, searchWordsTable } from "../../checkpoint/sql-log/words-table.ts";
import { classify, isDeclined, numberOf } from "./classify.ts";
import type { MysqlConnection } from "./connect.ts";
import type { MysqlHandle } from "./handle.ts";
import { checkpoints, DIALECT, type TableNames } from "./layout.ts";

export interface MysqlLogOptions {
  readonly connection: MysqlConnection;
  readonly names: TableNames;
  /** How many hits a search ranks at most. */
  readonly searchRanksUpTo: number;
}

const CAPABILITIES: LogCapabilities = {
  // Whatever its settings, the server outlives this process. The first contact may tell more.
  ...{ durability: "os", maxRecordBytes: 1024 * 1024 },
  ...{ conditionalAppend: true, listThreads: true, ttl: true, metadataQuery: true, clock: true, connects: true },
  ...{ maxChainRecords: Number.POSITIVE_INFINITY, search: "deferred" },
};

/** Threads in MySQL or MariaDB. */
export class MysqlLog extends SqlLog {
  constructor({ connection, names, searchRanksUpTo }: MysqlLogOptions) {
    super({
      name: "mysql",
      secrets: () => connection.secrets,
      capabilities: { ...CAPABILITIES, ranksUpTo: searchRanksUpTo },
      storage: connection.lease((handle) => storageOf(handle, names, searchRanksUpTo)),
      classify,
      declined: isDeclined,
      remains: () => REMAINS,
    });
  }
}

async function storageOf(handle: MysqlHandle, names: TableNames, ranksUpTo: number): Promise<SqlStorage> {
  const { prepareTables } = await import("./tables.ts");
  const version = await prepareTables(handle, names, checkpoints(names));
  const changes = new PlainChanges(handle, DIALECT, names);
  const [texts, member] = [reads(DIALECT, names), withMember(DIALECT, names)];
  const searching = searchStatements(DIALECT, names);
  const query = async (statement: SqlText, values: Values): Promise<readonly Row[]> =>
    (await handle.ask(statement, values)).rows;
  const readWords: ReadWords = (name, lists, values) => query(searching(lists)[name], values);
  return {
    learnt: { durability: handle.durability, maxRecordBytes: handle.maxRecordBytes },
    version,
    recordsPerBatch: 256,
    isLocked: (error) => [1205, 3572].includes(numberOf(error) ?? 0),
    read: (name, values) => query(texts[name], values),
    withMember: (range, key, valueJson) =>
      query(range["last"] === undefined ? member.from : member.to, { ...range, member: memberOf(key, valueJson) }),
    append: (threadId, request) => changes.append(threadId, request),
    remove: async (threadId, ifTail) => ((await changes.remove(threadId, ifTail)) ? "removed" : undefined),
    copy: (source, target, generation) => changes.copy(source, target, generation),
    removeExpired: (threadId) => changes.removeExpired(threadId),
    sweep: () => changes.sweep(),
    search: (words, range) => searchWordsTable(readWords, words, range, { ranksUpTo, listCharacters: 1024 * 1024 }),
    index: (batch) => changes.index(batch),
  };
}

/** How to remove what a server keeps of deleted rows. It takes locks and rights that an application should not have. */
export const REMAINS: readonly string[] = [
  "deleted rows in the tables' files until they are purged and overwritten: OPTIMIZE TABLE of these tables writes them anew",
  "the redo log, the undo log and the binary log until they are overwritten or expire, and replicas' relay logs",
];
