import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { served } from "../http/served.ts";
import { describeWithService } from "../services/with-service.ts";
import { openBackends, threadsOnly } from "./erasing-suite.ts";
import { holds } from "./holds-suite.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-holds-"));
afterAll(() => rm(folder, { recursive: true }));

describe("memory", () => holds(async () => threadsOnly(new MemoryCheckpointer())));

describe("file", () =>
  holds(async () => threadsOnly(await openCheckpointer(`file:${await mkdtemp(join(folder, "files-"))}/threads`))));

describe("sqlite", () =>
  holds(async () => {
    const url = `sqlite:${join(await mkdtemp(join(folder, "sqlite-")), "all.db")}`;
    return openBackends(url, url, url);
  }));

describe("http", () =>
  holds(async () => {
    const service = await served(new MemoryLog());
    return { ...threadsOnly(service.client()), dispose: async () => service[Symbol.asyncDispose]() };
  }));

let places = 0;

await describeWithService("postgres", (url) => {
  const at = (schema: string): string => `${url}${url.includes("?") ? "&" : "?"}schema=${schema}`;
  holds(() => {
    const schema = `holds_${process.pid}_${Date.now()}_${places++}`;
    return openBackends(at(schema), at(schema), at(schema));
  });
});

await describeWithService("redis", (url) => {
  const at = (prefix: string): string => `${url}${url.includes("?") ? "&" : "?"}prefix=${prefix}:`;
  holds(() => {
    const prefix = `holds-${process.pid}-${Date.now()}-${places++}`;
    return openBackends(at(`${prefix}-threads`), at(`${prefix}-items`), at(`${prefix}-users`));
  });
});
