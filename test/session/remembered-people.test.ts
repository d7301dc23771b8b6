import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { anthropicMemory } from "../../src/adapters/anthropic/memory-files.ts";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { ConversationIndex, spokenLines } from "../../src/memory/conversation-index.ts";
import { heuristicExtractor } from "../../src/memory/heuristic-extractor.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { BaseStore } from "../../src/store/base-store.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { AgentSession } from "../../src/wiring/agent-session.ts";
import { LLMMemoryManager } from "../../src/wiring/llm-memory-manager.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY, readableTexts } from "./people.ts";

const CITY = "Qzzburgh";
const OTHERS = "Xvvstadt";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-remembered-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const answering = () => scriptedModel(Array.from({ length: 20 }, () => ({ text: "Noted." })));

/** Every item of a store, as the store gives it. */
const everything = async (store: BaseStore): Promise<string> =>
  JSON.stringify(await store.list([], { recursive: true, limit: 1000 }));

describe("programs as the documentation shows them, on files: after eraseUser no byte of the person's words is stored", () => {
  test("memories, an index of what was said, and Claude's files", async () => {
    const url = (name: string): string => `sqlite:${join(directory, name)}`;
    const [checkpointer, store] = [await openCheckpointer(url("agents.db")), await openStore(url("items.db"))];
    const memory = new LLMMemoryManager({
      store,
      extract: heuristicExtractor(),
      namespacePrefix: ({ tenant }) => ["acme", String(tenant)],
    });
    const agent = new Agent({ model: answering(), checkpointer, memory });
    const metadata = { tenant: "north" };
    await agent.run(`I live in ${CITY}.`, { threadId: "monday", subject: "ines", metadata });
    await agent.run(`I live in ${OTHERS}.`, { threadId: "tuesday", subject: "bob", metadata });
    const index = new ConversationIndex({ store, namespace: ["said"] });
    for (const threadId of ["monday", "tuesday"]) {
      const state = await checkpointer.load(threadId);
      if (state !== undefined) await index.add(threadId, spokenLines(state));
    }
    const files = anthropicMemory({ store, subject: "ines" });
    await files.create({ path: "/memories/notes.txt", file_text: `Lives in ${CITY}` });
    await files.rename({ old_path: "/memories/notes.txt", new_path: "/memories/home.txt" });
    await files.insert({ path: "/memories/home.txt", insert_line: 1, insert_text: `Likes ${CITY}` });
    await anthropicMemory({ store, subject: "bob" }).create({ path: "/memories/notes.txt", file_text: OTHERS });

    expect(await memory.of({ subject: "ines", metadata }).list()).toMatchObject([{ value: CITY }]);
    expect(await index.search(CITY, { subject: "ines", limit: 1 })).toMatchObject([{ threadId: "monday" }]);
    expect(await index.search(CITY, { subject: "bob" })).toEqual([]);

    const data = new PersonalData({
      checkpointers: [checkpointer],
      stores: [store],
      ledger: new InMemoryStore(),
      key: KEY,
    });
    const lines: string[] = [];
    for await (const line of data.exportUser("ines")) lines.push(line);
    const exported = lines.map((line) => JSON.parse(line) as { kind?: string; where?: string; value?: unknown });
    const places = exported.filter(({ value }) => JSON.stringify(value ?? "").includes(CITY)).map(({ where }) => where);
    for (const place of ["monday", '"facts"', '"said"', '"memory-files"']) {
      expect(places.some((where) => where?.includes(place))).toBe(true);
    }
    expect(lines.join("\n")).not.toContain(OTHERS);

    const receipt = await data.eraseUser("ines");
    expect(receipt.verified).toBe(true);
    expect((await data.inventory("ines")).total).toBe(0);
    expect(await everything(store)).not.toMatch(new RegExp(`${CITY}|ines`, "i"));
    expect(await readableTexts(directory, [CITY, CITY.toLowerCase(), OTHERS])).toEqual([OTHERS]);
    expect(await memory.of({ subject: "bob", metadata }).list()).toMatchObject([{ value: OTHERS }]);
    await checkpointer.close();
    await store.close();
  });

  test("a task of a person's session is about that person, and what a tool stores can say so", async () => {
    const store = new InMemoryStore();
    const checkpointer = new MemoryCheckpointer();
    const memory = new LLMMemoryManager({ store, extract: heuristicExtractor() });
    const subjects: unknown[] = [];
    const note = {
      name: "note",
      inputSchema: { type: "object" } as const,
      execute: async (_: unknown, { subject }: { subject: unknown }) => subjects.push(subject),
    };
    const { tool } = await import("../../src/agent/tool-call/tool.ts");
    const model = scriptedModel([{ toolCalls: [{ name: "note", arguments: {} }] }, { text: "Noted." }]);
    const agent = new Agent({ model, checkpointer, memory, tools: [tool(note)] });
    const session = new AgentSession({ sessionId: "s", userId: "ines", backend: checkpointer });
    await agent.run(`I live in ${CITY}.`, { threadId: "t", session: session.task("done") });
    expect(subjects).toEqual(["ines"]);
    expect(await memory.of({ subject: "ines" }).list()).toMatchObject([{ value: CITY }]);
    const data = new PersonalData({
      checkpointers: [checkpointer],
      stores: [store],
      ledger: new InMemoryStore(),
      key: KEY,
    });
    expect((await data.eraseUser("ines")).verified).toBe(true);
    expect(JSON.stringify((await checkpointer.load("t"))?.toCheckpoint())).not.toContain(CITY);
    expect(await everything(store)).not.toContain(CITY);
  });
});

describe("without a subject", () => {
  test.each([{ namespacePrefix: ["memory"] }, { namespacePrefix: () => ["one", "for", "all"] }])(
    "two threads never share a memory: %j",
    async (options) => {
      const store = new InMemoryStore();
      const memory = new LLMMemoryManager({ store, extract: heuristicExtractor(), ...options });
      const model = answering();
      const agent = new Agent({ model, checkpointer: new MemoryCheckpointer(), memory });
      await agent.run(`I live in ${CITY}.`, { threadId: "a" });
      await agent.run("Where do I live?", { threadId: "b" });
      expect(JSON.stringify(model.requests.at(-1))).not.toContain(CITY);
      const values = (memories: readonly Memory[]): string[] => memories.map(({ value }) => value);
      expect(values(await memory.of({ threadId: "a" }).list())).toEqual([CITY]);
      expect(values(await memory.of({ threadId: "b" }).list())).toEqual([]);
      await agent.run("Where do I live?", { threadId: "a" });
      expect(JSON.stringify(model.requests.at(-1))).toContain("holdfast.recalled");
    },
  );

  test("a run in no thread remembers nothing", async () => {
    const store = new InMemoryStore();
    const memory = new LLMMemoryManager({ store, extract: heuristicExtractor() });
    await new Agent({ model: answering(), memory }).run(`I live in ${CITY}.`);
    expect(await everything(store)).toBe("[]");
  });

  test("an index and Claude's files must be told whose they are", async () => {
    const store = new InMemoryStore();
    expect(() => anthropicMemory({ store, namespace: ["memory-files", "ines"] })).toThrow(/whose memories are meant/);
    const index = new ConversationIndex({ store, namespace: ["said"] });
    await expect(index.search("Bern")).rejects.toThrow(/\{ subject \}, or in one thread, \{ threadId \}/);
  });
});

test.each(["userId", "user_id", "user", "customerId", "USER-ID"])(
  "a run whose metadata names a person by %s and no subject is warned of that name",
  async (name) => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    try {
      const agent = new Agent({ model: answering(), checkpointer: new MemoryCheckpointer() });
      const told: string[] = [];
      const run = agent.run("Hi.", { threadId: "t", metadata: { [name]: "ines" } });
      for await (const event of run) if (event.type === "warning") told.push(String(event.error));
      expect(told).toEqual([expect.stringContaining(`metadata.${name} does not say who this is about`)]);
      expect(warned).toHaveBeenCalledWith(expect.stringContaining(`metadata.${name}`));
      const named = agent.run("Hi.", { threadId: "u", subject: "ines", metadata: { [name]: "ines" } });
      for await (const event of named) expect(event.type).not.toBe("warning");
    } finally {
      warned.mockRestore();
    }
  },
);
