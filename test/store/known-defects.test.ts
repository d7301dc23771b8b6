import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { servedStore } from "../http/served-store.ts";
import { clearPrefix, freshPrefix } from "../redis/fixtures.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { testKnownDefects } from "./known-defects.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-known-defects-"));
afterAll(() => rm(folder, { recursive: true }));

testKnownDefects("memory", () => openStore("memory:"));
const there = await servedStore(new InMemoryStore(), { tenant: "acme" });
afterAll(async () => there[Symbol.asyncDispose]());
testKnownDefects("http", async () => there.client());
testKnownDefects("file", () => openStore(`file:${join(folder, "items")}`));
testKnownDefects("sqlite", () => openStore(`sqlite:${join(folder, "items.db")}`));

await describeWithService("postgres", (url) => {
  const { schema, dispose } = postgresPlace(url);
  afterAll(dispose);
  testKnownDefects("postgres", () => openStore(`${url}?schema=${schema}`));
});

await describeWithService("redis", (url) => {
  const prefix = freshPrefix();
  afterAll(async () => {
    const admin = new Redis(url);
    await clearPrefix(admin, prefix);
    admin.disconnect();
  });
  testKnownDefects("redis", () => openStore(`${url}?prefix=${prefix}`));
});
