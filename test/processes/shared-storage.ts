import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileLog } from "../../src/backends/file/log.ts";
import { mysqlLogOptions } from "../../src/backends/mysql/checkpointer.ts";
import { parseMysqlUrl } from "../../src/backends/mysql/connect.ts";
import { MysqlLog } from "../../src/backends/mysql/log.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { opensearchLogOptions, optionsOfUrl } from "../../src/backends/opensearch/checkpointer.ts";
import { OpenSearchLog } from "../../src/backends/opensearch/log.ts";
import { postgresLogOptions } from "../../src/backends/postgres/checkpointer.ts";
import { PostgresLog } from "../../src/backends/postgres/log.ts";
import { redisLogOptions as redisOptions } from "../../src/backends/redis/checkpointer.ts";
import { RedisLog } from "../../src/backends/redis/log.ts";
import { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { sqliteLogOptions as sqliteOptions } from "../../src/backends/sqlite/options.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import type { DISK_BACKENDS } from "./disk-backends.ts";

/** A storage that several processes share. Each opens it with the URL, as a user would. */
export interface SharedStorage {
  readonly url: string;
  dispose(): Promise<void>;
}

export async function sharedOnDisk(backend: (typeof DISK_BACKENDS)[number]): Promise<SharedStorage> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-shared-"));
  return {
    url: `${backend}:${join(directory, backend === "file" ? "threads" : "threads.db")}`,
    dispose: () => rm(directory, { recursive: true }),
  };
}

/** On a server that others use too: under a name of its own, which goes with the server. */
export function sharedOnServer(serverUrl: string): SharedStorage {
  const url = new URL(serverUrl);
  const own = `shared_${randomBytes(6).toString("hex")}_`;
  url.searchParams.set(NAME_OF_A_PART[url.protocol.slice(0, -1)] ?? "prefix", own);
  if (url.protocol.startsWith("opensearch")) url.searchParams.set("replicas", "0");
  return { url: url.href, dispose: async () => undefined };
}

/** The parameter that names a test's own part of the server. */
const NAME_OF_A_PART: Readonly<Record<string, string>> = {
  postgres: "tablePrefix",
  mysql: "tablePrefix",
  redis: "prefix",
  "opensearch+http": "namespace",
};

export async function openShared(url: string): Promise<Checkpointer> {
  // There is no such server to start: the client's own messages are answered here.
  if (url.startsWith("oracle:")) await import("../oracle-stand-in/install.ts");
  return openCheckpointer(url);
}

/** The driver alone, for a program that has to stand between it and the checkpointer. */
export function openSharedLog(url: string): ThreadLog {
  const [scheme = "", place = ""] = url.split(/:(.*)/s);
  switch (scheme) {
    case "file":
      return new FileLog({ directory: place });
    case "sqlite":
      return new SqliteLog(sqliteOptions({ path: place }));
    case "redis": {
      const prefix = new URL(url).searchParams.get("prefix") ?? "";
      return new RedisLog(redisOptions({ url, prefix }));
    }
    case "postgres": {
      const dsn = new URL(url);
      const tablePrefix = dsn.searchParams.get("tablePrefix") ?? "";
      dsn.searchParams.delete("tablePrefix");
      return new PostgresLog(postgresLogOptions({ dsn: dsn.href, tablePrefix }));
    }
    case "mysql":
      return new MysqlLog(mysqlLogOptions(parseMysqlUrl(url)));
    case "opensearch+http":
      return new OpenSearchLog(opensearchLogOptions(optionsOfUrl(url)));
    default:
      throw new Error(`no shared storage has the scheme ${JSON.stringify(scheme)}`);
  }
}
