import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { InMemoryStore, MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import type { BaseCheckpointer } from "../../src/checkpoint/base-checkpointer.ts";
import { StateError } from "../../src/errors.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import type { BaseStore } from "../../src/store/base-store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { Programs } from "../processes/programs.ts";
import { describeWithService } from "../services/with-service.ts";
import { KEY } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-insisting-"));
const programs = await Programs.bundle("insisting-program");
afterAll(async () => {
  await programs.dispose();
  await rm(folder, { recursive: true, force: true });
});

interface Said {
  readonly word: string;
  readonly at: number;
}

/** All that the storages hold. */
async function everyText(checkpointer: BaseCheckpointer, store: BaseStore): Promise<string> {
  const texts: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await checkpointer.listThreads({ limit: 1000, ...(cursor !== undefined && { cursor }) });
    for (const threadId of page) {
      for await (const { checkpointId } of checkpointer.history(threadId)) {
        texts.push(JSON.stringify((await checkpointer.load(threadId, { checkpointId }))?.messages.slice(-1)));
      }
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  texts.push(JSON.stringify(await store.list([], { recursive: true, limit: 1000 })));
  return texts.join("\n");
}

function insistent(threads: () => string, items: () => string): void {
  test("two processes that write about a person without a pause: the erasure ends with a receipt, and nothing that was acknowledged before it is left", async () => {
    const [threadsUrl, itemsUrl] = [threads(), items()];
    const [checkpointer, store] = [await openCheckpointer(threadsUrl), await openStore(itemsUrl)];
    await checkpointer.save(AgentState.create(), "shared");
    const writers = ["qax", "qbx"].map((mark) =>
      programs.start("insisting-program", [threadsUrl, itemsUrl, "ann", mark]),
    );
    for (const writer of writers) await writer.hasSaid(12);
    const ledger = new InMemoryStore();
    const data = new PersonalData({ checkpointers: [checkpointer], stores: [store], ledger, key: KEY });
    const erasing = data.eraseUser("ann");
    const ended = erasing.then(
      () => undefined,
      () => undefined,
    );
    await ended;
    const before = writers.map((writer) => writer.said.length);
    // They go on once it is over.
    for (const [index, writer] of writers.entries()) await writer.hasSaid((before[index] ?? 0) + 3);
    for (const writer of writers) writer.tell("stop");
    const receipt = await erasing;
    expect(await Promise.all(writers.map((writer) => writer.ended()))).toMatchObject([{ code: 0 }, { code: 0 }]);
    expect(receipt.verified).toBe(true);
    const text = await everyText(checkpointer, store);
    const finishedAt = Date.parse(receipt.finishedAt);
    const said = writers.flatMap((writer) => writer.said.filter((each): each is Said => typeof each === "object"));
    const left = said.filter(({ word, at }) => at < finishedAt && text.includes(word));
    expect(left).toEqual([]);
    console.log(
      `${said.length} words were acknowledged, ${said.filter(({ at }) => at < finishedAt).length} before the receipt`,
    );
    expect((await data.eraseUser("ann")).verified).toBe(true);
    expect((await data.inventory("ann")).total).toBe(0);
    await checkpointer.close();
    await store.close();
  }, 180_000);
}

describe("on sqlite", () => {
  insistent(
    () => `sqlite:${join(folder, "threads.db")}`,
    () => `sqlite:${join(folder, "items.db")}`,
  );
});

await describeWithService("postgres", (url) => {
  insistent(
    () => `${url}?tablePrefix=insisting_`,
    () => `${url}?tablePrefix=insisting_`,
  );
});

test("in memory, behind every look: writers to old and new threads are refused once a look found something again, and go on after the receipt", async () => {
  const checkpointer = new MemoryCheckpointer();
  const about = { metadata: { subject: "ann" } };
  const acknowledged: string[] = [];
  let refused = 0;
  const write = async (threadId: string, word: string): Promise<void> => {
    try {
      const state = (await checkpointer.load(threadId)) ?? AgentState.create();
      await checkpointer.save(state.withMessage(userMessage(word, about)), threadId);
      acknowledged.push(word);
    } catch (error) {
      if (!StateError.is(error, "CONFLICT")) throw error;
      refused++;
    }
  };
  await write("t", "first");
  const { contextOf } = await import("../../src/checkpoint/context.ts");
  const log = contextOf(checkpointer)?.log;
  if (log === undefined) throw new Error("it has no log");
  const listThreads = log.listThreads.bind(log);
  let looks = 0;
  log.listThreads = async (options) => {
    const page = await listThreads(options);
    // When a look has its list, a writer comes behind it.
    looks++;
    await write("t", `again ${looks}`);
    await write(`new ${looks}`, `elsewhere ${looks}`);
    return page;
  };
  const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
  expect((await data.eraseUser("ann")).verified).toBe(true);
  log.listThreads = listThreads;
  expect(refused).toBeGreaterThan(0);
  expect(acknowledged.length).toBeGreaterThan(1);
  expect((await data.inventory("ann")).total).toBe(0);
  await write("t", "after");
  await write("after", "after");
  expect(acknowledged.slice(-2)).toEqual(["after", "after"]);
});
