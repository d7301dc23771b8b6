import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { StorageBackendAdapter } from "../../src/checkpoint/dict/adapter.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { JsonFileStorage, MapStorage, without } from "../dict-storages.ts";
import { served } from "../http/served.ts";
import { describeWithService } from "../services/with-service.ts";
import { type Backends, erases, erasesEveryField, openBackends, threadsOnly } from "./erasing-suite.ts";
import { KEY } from "./people.ts";
import { inPostgres, inRedis } from "./stored-in.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-erasing-"));
afterAll(() => rm(folder, { recursive: true }));

/** As many as show it; the campaign (test/campaigns/erasing.test.ts) has more. */
const [PEOPLE, GONE] = [6, 2];

const LOCAL: readonly (readonly [name: string, create: () => Promise<Backends>])[] = [
  ["memory", async () => threadsOnly(new MemoryCheckpointer())],
  ["dict storage", async () => threadsOnly(new StorageBackendAdapter(new MapStorage(new Map())))],
  [
    "dict storage in files",
    async () => {
      const directory = await mkdtemp(join(folder, "dict-"));
      return threadsOnly(new StorageBackendAdapter(new JsonFileStorage(directory)), directory);
    },
  ],
  [
    "http",
    async () => {
      const service = await served(new MemoryLog());
      return { ...threadsOnly(service.client()), dispose: async () => service[Symbol.asyncDispose]() };
    },
  ],
  [
    "file",
    async () => {
      const directory = await mkdtemp(join(folder, "files-"));
      const url = `file:${join(directory, "all")}`;
      return openBackends(url, url, url, directory);
    },
  ],
  [
    "sqlite",
    async () => {
      const directory = await mkdtemp(join(folder, "sqlite-"));
      const url = `sqlite:${join(directory, "all.db")}`;
      return openBackends(url, url, url, directory);
    },
  ],
];

for (const [name, create] of LOCAL) {
  describe(name, () => {
    erases(create, PEOPLE, GONE);
    erasesEveryField(create);
  });
}

await describeWithService("postgres", (url) => {
  const at = (schema: string): string => `${url}${url.includes("?") ? "&" : "?"}schema=${schema}`;
  const schema = `erasing_${process.pid}_${Date.now()}`;
  erases(() => openBackends(at(schema), at(schema), at(`${schema}_users`)), PEOPLE, GONE);
  let others = 0;
  erasesEveryField(async () => {
    const own = `${schema}_${++others}`;
    return { ...(await openBackends(at(own), at(own), at(own))), storedIn: inPostgres(url, own) };
  });
});

await describeWithService("redis", (url) => {
  const prefix = `erasing-${process.pid}-${Date.now()}`;
  const at = (suffix: string): string => `${url}${url.includes("?") ? "&" : "?"}prefix=${prefix}-${suffix}:`;
  erases(() => openBackends(at("threads"), at("items"), at("users")), PEOPLE, GONE);
  let others = 0;
  erasesEveryField(async () => {
    const own = `every${++others}`;
    return { ...(await openBackends(at(own), at(own), at(own))), storedIn: inRedis(url, `${prefix}-${own}:`) };
  });
});

describe("what a backend cannot do is said", () => {
  test("a storage that cannot list its threads is refused, and there is no receipt", async () => {
    const checkpointer = new StorageBackendAdapter(without(new MapStorage(new Map()), "list"));
    await checkpointer.save(AgentState.create().withMessage(userMessage("Ann", { metadata: { subject: "ann" } })), "t");
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    await expect(data.eraseUser("ann")).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await expect(data.inventory("ann")).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(await data.receipts()).toEqual([]);
  });

  test("over HTTP everything is erased, and the receipt says whose business the service's own files are", async () => {
    const service = await served(new MemoryLog());
    const checkpointer = service.client();
    await checkpointer.save(AgentState.create().withMessage(userMessage("Ann", { metadata: { subject: "ann" } })), "t");
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    const receipt = await data.eraseUser("ann");
    expect(receipt.places[0]?.remains[0]).toMatch(/behind the service/);
    await service[Symbol.asyncDispose]();
  });
});
