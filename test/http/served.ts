import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HTTPCheckpointer, type HTTPCheckpointerOptions } from "../../src/backends/http/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { SqliteLog } from "../../src/backends/sqlite/log.ts";
import { sqliteLogOptions } from "../../src/backends/sqlite/options.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../src/checkpoint/context.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { createToken, type RunningService, type ServeOptions, serve } from "../../src/entry/server.ts";
import { SCOPES } from "../../src/wire/protocol.ts";
import { noticedByClients } from "../network/noticed-by-clients.ts";

/** A service on a loopback socket with one token that may do everything; for all threads, or for one tenant's. */
export interface Served extends AsyncDisposable {
  readonly service: RunningService;
  /** What the service stands in front of. */
  readonly behind: Checkpointer;
  readonly token: string;
  readonly client: (options?: Partial<HTTPCheckpointerOptions>) => HTTPCheckpointer;
}

export async function served(
  log: ThreadLog = new MemoryLog(),
  options: Partial<ServeOptions> & Pick<CheckpointerOptions, "now" | "retry"> & { readonly tenant?: string } = {},
): Promise<Served> {
  const { now, retry, tenant, ...given } = options;
  const behind = new Checkpointer(log, { ...(now !== undefined && { now }), ...(retry !== undefined && { retry }) });
  const { token, sha256 } = createToken();
  const auth = { tokens: [{ sha256, scopes: SCOPES, ...(tenant !== undefined && { tenant }) }] };
  const service = await serve({ checkpointer: behind, auth, port: 0, rateLimit: false, watchPollMs: 20, ...given });
  return {
    service,
    behind,
    token,
    client: (own = {}) => new HTTPCheckpointer({ baseUrl: service.url, token, ...own }),
    [Symbol.asyncDispose]: async () => {
      await service.close();
      await behind.close();
      await noticedByClients();
    },
  };
}

/** A new SQLite file in a folder of its own. */
export async function sqliteFolder(): Promise<{ open: () => SqliteLog; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-http-"));
  return {
    open: () => new SqliteLog(sqliteLogOptions({ path: join(folder, "a.db") })),
    remove: () => rm(folder, { recursive: true }),
  };
}
