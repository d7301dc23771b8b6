import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCluster, type TestCluster } from "../../../test/redis/cluster.ts";
import { describeWithOwnRedis } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";

const PROGRAM = fileURLToPath(new URL("../../../test/redis/finishing-program.ts", import.meta.url));

/** The program's output and exit code, and how many ms it ran on after its last line. */
async function run(args: readonly string[], onLine: (line: string) => void = () => undefined) {
  const child = spawn(process.execPath, ["--import", "tsx", PROGRAM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const impatience = setTimeout(() => child.kill("SIGKILL"), 20_000);
  const said: string[] = [];
  const complaints: string[] = [];
  let lastWord = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    said.push(line);
    lastWord = performance.now();
    onLine(line);
  });
  child.stderr.on("data", (data) => complaints.push(String(data)));
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearTimeout(impatience);
  return { code, said, complaints, lingeredMs: performance.now() - lastWord };
}

/** Far less than any timeout of the clients, far more than a process takes to exit. */
const AT_ONCE_MS = 1500;

await describeWithOwnRedis("a program that does not close its checkpointer", () => {
  let server: TestServer;
  let cluster: TestCluster;
  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedis(), startCluster()]);
  });
  afterAll(() => Promise.all([server.stop(), cluster.stop()]));

  describe.for(["ioredis", "redis"])("with %s", (library) => {
    test("C1: ends when it has nothing left to do", async () => {
      const { code, said, complaints, lingeredMs } = await run([server.url, library]);
      expect({ code, said, complaints }).toEqual({ code: 0, said: ["loaded 1", "done"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });

    test("C1: ends when it has nothing left to do on a cluster", async () => {
      const { code, said, complaints, lingeredMs } = await run([cluster.url, library]);
      expect({ code, said, complaints }).toEqual({ code: 0, said: ["loaded 1", "done"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });

    test("C1: ends though the server went away while it was idle", async () => {
      const mortal = await startRedis();
      let killing: Promise<void> | undefined;
      const { code, said, complaints, lingeredMs } = await run([mortal.url, library, "1500"], (line) => {
        if (line === "loaded 1") killing = mortal.kill();
      });
      await killing;
      await mortal.stop();
      expect({ code, said, complaints }).toEqual({ code: 0, said: ["loaded 1", "done"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });
  });
});
