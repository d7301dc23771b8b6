import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { createToken, serve } from "../../src/entry/server.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { holdfast } from "../cli/fake-world.ts";
import { sharedOnServer } from "../processes/shared-storage.ts";
import { s3Url } from "../s3/test-bucket.ts";
import { describeWithService } from "../services/with-service.ts";

/** Fails unless all that doctor can prove holds there, and one thread is all that is in the store afterwards. */
async function assertHealthy(url: string): Promise<void> {
  const checkpointer = await openCheckpointer(url);
  await checkpointer.save(AgentState.create(), "mine");
  const { code, stdout, stderr } = await holdfast(["doctor", "env:STORE", "--json"], { env: { STORE: url } });
  expect([JSON.parse(stdout).cases.failed, code, stderr]).toEqual([[], 0, ""]);
  const found = JSON.parse(stdout);
  expect(found).toMatchObject({ threads: 1, damages: [], leftBehind: 0, cases: { failed: [] } });
  expect(found.cases.passed).toBeGreaterThan(80);
  expect([...(await checkpointer.listThreads())]).toEqual(["mine"]);
  await checkpointer.close();
}

const MINUTES = 20 * 60_000;

for (const name of ["postgres", "redis", "opensearch"] as const) {
  await describeWithService(name, (url) => {
    test(`doctor is green on ${name}`, async () => assertHealthy(sharedOnServer(url).url), MINUTES);
  });
}

await describeWithService("s3", (server) => {
  test(
    "doctor is green on s3",
    async () => {
      const { url, environment } = s3Url(server);
      for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
      await assertHealthy(url);
      vi.unstubAllEnvs();
    },
    MINUTES,
  );
});

test.each(["file", "sqlite"])(
  "doctor is green on %s",
  async (scheme) => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-doctor-"));
    await assertHealthy(`${scheme}:${join(directory, "store")}`);
    await rm(directory, { recursive: true });
  },
  MINUTES,
);

test(
  "doctor is green on a service over HTTP",
  async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-doctor-"));
    const checkpointer = await openCheckpointer(`sqlite:${join(directory, "a.db")}`);
    const { token, sha256 } = createToken();
    const scopes = ["threads:read", "threads:write", "threads:delete"] as const;
    const service = await serve({ checkpointer, port: 0, auth: { tokens: [{ sha256, scopes }] } });
    await assertHealthy(service.url.replace("//", `//:${token}@`));
    await service.close();
    await checkpointer.close();
    await rm(directory, { recursive: true });
  },
  MINUTES,
);
