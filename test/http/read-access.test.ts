import { afterAll, describe, expect, test } from "vitest";
import { FileCheckpointer } from "../../src/backends/file/index.ts";
import { HTTPCheckpointer } from "../../src/backends/http/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import { createToken, type ReportedFailure, serve } from "../../src/entry/server.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { SCOPES } from "../../src/wire/protocol.ts";
import { failureOf } from "../failure-of.ts";
import { readingCalls, writingCalls } from "../read-access/every-method.ts";
import { fillStore } from "../read-access/fill-store.ts";
import { type ObservedStore, testReadAccess } from "../read-access/proof.ts";
import { served, sqliteFolder } from "./served.ts";

describe("a client with read access", () => {
  testReadAccess({
    name: "a service",
    create: async (): Promise<ObservedStore> => {
      const log = new MemoryLog();
      const service = await served(new PrefixLog(log, ""));
      return {
        open: (options) => service.client(options),
        contents: async () => {
          const { items } = await log.listThreads({ prefix: "", limit: 1000 });
          const tails = items
            .filter(isReadable)
            .map(async ({ threadId }) => [threadId, JSON.stringify(await log.readTail(threadId))]);
          return Object.fromEntries(await Promise.all(tails)) as Record<string, string>;
        },
        cleanup: async () => service[Symbol.asyncDispose](),
      };
    },
  });

  test("a client with read access refuses writes by itself and asks the service for nothing that writes", async () => {
    const folder = await sqliteFolder();
    const log = folder.open();
    const service = await served(log);
    const filled = await fillStore(service.behind);
    const asked: string[] = [];
    const fetch: typeof globalThis.fetch = (input, options) => {
      asked.push(`${options?.method} ${new URL(String(input)).pathname}`);
      return globalThis.fetch(input, options);
    };
    const reader = service.client({ fetch, access: "read" });
    for (const call of Object.values(writingCalls(reader, filled))) await failureOf(call);
    expect(asked).toEqual([]);
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    // A search makes the service index what is behind, so threads are read instead.
    const posted = asked.filter((line) => !line.startsWith("GET ")).map((line) => line.split("/").at(-1));
    expect(new Set(posted)).toEqual(new Set(["metadata-query"]));
    await reader.close();
    await service[Symbol.asyncDispose]();
    await folder.remove();
  });
});

/** They look first, and find nothing to delete, to settle or to break: they never come to write. */
const FIND_NOTHING = ["delete of nothing", "settleCall", "breakLease"];

describe("a service over a read-only checkpointer", async () => {
  const log = new MemoryLog();
  const writer = new Checkpointer(new PrefixLog(log, ""));
  const filled = await fillStore(writer);
  const { token, sha256 } = createToken();
  const failures: ReportedFailure[] = [];
  const behind = new Checkpointer(log, { access: "read" });
  const service = await serve({
    checkpointer: behind,
    auth: { tokens: [{ sha256, scopes: SCOPES }] },
    port: 0,
    rateLimit: false,
    onFailure: (failure) => failures.push(failure),
  });
  afterAll(async () => {
    await service.close();
    await behind.close();
  });

  test("a service over a read-only checkpointer answers everything that reads", async () => {
    const client = new HTTPCheckpointer({ baseUrl: service.url, token });
    for (const call of Object.values(readingCalls(client, filled))) await call();
    expect((await client.load("long"))?.messages).toHaveLength(70);
    expect((await client.search("zebra")).map(({ threadId }) => threadId)).toEqual(["behind the index"]);
    await client.close();
  });

  test("a service over a read-only checkpointer answers every write with 403, says why, and reports no failure", async () => {
    const statuses: number[] = [];
    const fetch: typeof globalThis.fetch = async (input, options) => {
      const response = await globalThis.fetch(input, options);
      if (options?.method !== "GET") statuses.push(response.status);
      return response;
    };
    const client = new HTTPCheckpointer({ baseUrl: service.url, token, fetch });
    const state = await client.load("long");
    for (const [method, call] of Object.entries({
      ...writingCalls(client, filled),
      "save onto a head": () => client.save(state ?? AgentState.create(), "long"),
    })) {
      if (FIND_NOTHING.includes(method)) continue;
      const { code, message } = await failureOf(call);
      expect([method, code, message]).toEqual([method, "PERMISSION_DENIED", expect.stringContaining('access: "read"')]);
    }
    expect(new Set(statuses)).toEqual(new Set([403]));
    expect(failures).toEqual([]);
    await client.close();
  });

  test("a service whose read-only store is not there answers NOT_FOUND and never that a thread is absent", async () => {
    const missing = new FileCheckpointer({ directory: "/does/not/exist", access: "read" });
    const other = await serve({ checkpointer: missing, port: 0, onFailure: () => undefined });
    const client = new HTTPCheckpointer({ baseUrl: other.url });
    expect((await failureOf(() => client.load("long"))).code).toBe("NOT_FOUND");
    await client.close();
    await other.close();
    await missing.close();
  });
});
