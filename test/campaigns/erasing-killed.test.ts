import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import { Programs } from "../processes/programs.ts";
import { describeWithOwnRedis } from "../redis/fixtures.ts";
import { startRedis } from "../services/redis.ts";
import { describeWithService } from "../services/with-service.ts";
import { diskUrls } from "../session/disk-urls.ts";
import { fillPlace, type InterruptedPlace, killAtEveryStep } from "../session/interrupted-suite.ts";
import { readableIn } from "../session/people.ts";
import { reportCampaign } from "./report.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-killed-erasures-"));
let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(async () => {
  await programs.dispose();
  await rm(folder, { recursive: true });
});

async function campaign(name: string, place: (moment: number) => Promise<InterruptedPlace>): Promise<void> {
  const began = performance.now();
  const { moments, kills } = await killAtEveryStep(programs, place);
  expect(kills).toBeGreaterThan(10);
  reportCampaign(`erasure killed on ${name}`, began, "finished each time by the next process", { moments, kills });
}

const TITLE = "an erasure that is killed at any step is finished by the next process that opens the backends";

describe.each(DISK_BACKENDS)("on %s", (backend) => {
  test(TITLE, async () => {
    const source = await mkdtemp(join(folder, "filled-"));
    await fillPlace(diskUrls(backend, source));
    await campaign(backend, async (moment) => {
      const directory = join(folder, `${backend}-${moment}`);
      await cp(source, directory, { recursive: true });
      const readable = (people: readonly number[]) => readableIn(directory, people);
      return { ...diskUrls(backend, directory), readable, dispose: () => rm(directory, { recursive: true }) };
    });
  });
});

const ledgerAt = (name: string, moment: number): string => `sqlite:${join(folder, `${name}-${moment}.db`)}`;

await describeWithService("postgres", (url) => {
  test(TITLE, async () => {
    const run = `killed_${process.pid}_${Date.now()}`;
    await campaign("postgres", async (moment) => {
      const at = `${url}${url.includes("?") ? "&" : "?"}schema=${run}_${moment}`;
      const place = { threads: at, items: at, ledger: ledgerAt("postgres", moment) };
      await fillPlace(place);
      return { ...place, dispose: async () => undefined };
    });
  });
});

await describeWithOwnRedis("redis", () => {
  test(TITLE, async () => {
    const server = await startRedis({ settings: { rdbcompression: "no" } });
    try {
      await campaign("redis", async (moment) => {
        const at = (what: string): string => `${server.url}?prefix=killed-${moment}-${what}:`;
        const place = { threads: at("threads"), items: at("items"), ledger: ledgerAt("redis", moment) };
        await fillPlace(place);
        return { ...place, readable: (people) => readableIn(server.folder, people), dispose: async () => undefined };
      });
    } finally {
      await server.stop();
    }
  });
});
