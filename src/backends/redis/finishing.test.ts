import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AT_ONCE_MS, endingOfProgram } from "../../../test/ending.ts";
import { startCluster, type TestCluster } from "../../../test/redis/cluster.ts";
import { describeWithOwnRedis } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";

const PROGRAM = fileURLToPath(new URL("../../../test/redis/finishing-program.ts", import.meta.url));

await describeWithOwnRedis("a program that does not close its checkpointer", () => {
  let server: TestServer;
  let cluster: TestCluster;
  beforeAll(async () => {
    [server, cluster] = await Promise.all([startRedis(), startCluster()]);
  });
  afterAll(() => Promise.all([server.stop(), cluster.stop()]));

  describe.for(["ioredis", "redis"])("with %s", (library) => {
    test("ends when it has nothing left to do", async () => {
      const { code, said, complaints, lingeredMs } = await endingOfProgram(PROGRAM, [server.url, library]);
      expect({ code, said, complaints }).toEqual({ code: 0, said: ["loaded 1", "done"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });

    test("ends when it has nothing left to do on a cluster", async () => {
      const { code, said, complaints, lingeredMs } = await endingOfProgram(PROGRAM, [cluster.url, library]);
      expect({ code, said, complaints }).toEqual({ code: 0, said: ["loaded 1", "done"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });

    test("ends though the server went away while it was idle", async () => {
      const mortal = await startRedis();
      let killing: Promise<void> | undefined;
      const { code, said, complaints, lingeredMs } = await endingOfProgram(
        PROGRAM,
        [mortal.url, library, "1500"],
        (line) => {
          if (line === "loaded 1") killing = mortal.kill();
        },
      );
      await killing;
      await mortal.stop();
      expect({ code, said, complaints }).toEqual({ code: 0, said: ["loaded 1", "done"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });
  });
});
