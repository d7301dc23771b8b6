import { execFile } from "node:child_process";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isRoot, unprivilegedUser } from "../../../test/services/binaries.ts";
import { startPostgres } from "../../../test/services/postgres.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { postgresqlCheckpointer } from "./index.ts";

const run = promisify(execFile);

/** A file system of 8 MB for a server's tables; `undefined` where this machine does not allow mounting one. */
async function mountSmallDisk(): Promise<string | undefined> {
  if (!isRoot()) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "holdfast-small-disk-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", folder]);
    const user = await unprivilegedUser("postgres", "nobody");
    await chown(folder, user?.uid ?? 0, user?.gid ?? 0);
    await chmod(folder, 0o700);
    return folder;
  } catch {
    await rm(folder, { recursive: true });
    return undefined;
  }
}

const disk = await mountSmallDisk();
if (disk === undefined) console.log("skipped: a full disk under PostgreSQL: mounting a small one needs root");

await describeWithService("postgres", () => {
  let server: TestServer;
  beforeAll(async () => {
    if (disk !== undefined) server = await startPostgres();
  });
  afterAll(async () => {
    if (disk === undefined) return;
    await server.stop();
    await run("umount", [disk]);
    await rm(disk, { recursive: true });
  });

  test.skipIf(disk === undefined)(
    "a full disk is STORAGE_FULL; what was saved stays, and saving works again when there is room",
    async () => {
      const admin = new Client({ connectionString: server.url });
      await admin.connect();
      await admin.query(`CREATE TABLESPACE small LOCATION '${disk}'`);
      await admin.query("ALTER ROLE holdfast SET default_tablespace = 'small'");
      await using checkpointer = postgresqlCheckpointer({ dsn: server.url });
      let saved = AgentState.create();
      let failure: unknown;
      // Random, so that the server cannot compress it.
      const noise = (): string => Array.from({ length: 20_000 }, () => Math.random().toString(36).slice(2)).join(" ");
      for (let step = 0; step < 100 && failure === undefined; step++) {
        const next = saved.withMessage(userMessage(noise()));
        try {
          await checkpointer.save(next, "t1");
          saved = next;
        } catch (error) {
          failure = error;
        }
      }
      expect(StateError.is(failure, "STORAGE_FULL"), String(failure)).toBe(true);
      expect((await checkpointer.load("t1"))?.messages).toHaveLength(saved.messages.length);
      await run("mount", ["-o", "remount,size=64m", disk ?? ""]);
      const state = (await checkpointer.load("t1"))?.withMessage(userMessage("there is room again")) as AgentState;
      await checkpointer.save(state, "t1");
      expect((await checkpointer.load("t1"))?.messages).toHaveLength(saved.messages.length + 1);
      await admin.end();
    },
  );
});
