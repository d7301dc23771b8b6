import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { postgresqlCheckpointer } from "../../src/backends/postgres/index.ts";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";
import { describeWithService } from "../services/with-service.ts";
import { racingHolds } from "./racing-holds-suite.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-racing-holds-"));
afterAll(() => rm(folder, { recursive: true }));

/** Ahead, so that what was saved just now is old. */
const now = (): number => Date.now() + 1000;

describe("memory", () =>
  racingHolds(async () => {
    const log = new MemoryLog();
    return { open: async () => new Checkpointer(new PrefixLog(log, ""), { now }) };
  }));

describe("memory, sealed", () =>
  racingHolds(async () => {
    const [log, { keyring }] = [new MemoryLog(), await sampleKeyring()];
    const sealing = new Sealing({ keyring });
    return { open: async () => new Checkpointer(new PrefixLog(log, ""), { now, sealing }) };
  }));

describe("sqlite", () =>
  racingHolds(async () => {
    const path = join(await mkdtemp(join(folder, "sqlite-")), "all.db");
    return { open: async () => sqliteCheckpointer({ path, now }) };
  }));

let places = 0;

await describeWithService("postgres", (dsn) => {
  racingHolds(async () => {
    const schema = `racing_holds_${process.pid}_${Date.now()}_${places++}`;
    return { open: async () => postgresqlCheckpointer({ dsn, schema, now }) };
  });
});
