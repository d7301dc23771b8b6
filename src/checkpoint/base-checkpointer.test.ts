import { describe, expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { page } from "../driver/page.ts";
import { AgentState } from "../state/agent-state.ts";
import { userMessage } from "../state/message.ts";
import { BaseCheckpointer, type CheckpointRef, type CheckpointSummary, type PageOptions } from "./base-checkpointer.ts";
import { CAPABILITY_FLAGS, type CheckpointerCapabilities, capabilities, NO_CAPABILITIES } from "./capabilities.ts";

/** The least that is needed: the easy door. */
class Smallest extends BaseCheckpointer {
  readonly saved: { readonly threadId: string; readonly checkpointId: string; readonly state: AgentState }[] = [];

  get capabilities(): CheckpointerCapabilities {
    return capabilities({ history: true });
  }

  async save(state: AgentState, threadId: string): Promise<string> {
    const checkpointId = `c${this.saved.length + 1}`;
    this.saved.unshift({ threadId, checkpointId, state });
    return checkpointId;
  }

  async load(threadId: string, { checkpointId }: CheckpointRef = {}): Promise<AgentState | undefined> {
    const wanted = (id: string): boolean => checkpointId === undefined || checkpointId === id;
    return this.saved.find((one) => one.threadId === threadId && wanted(one.checkpointId))?.state;
  }

  async listCheckpoints(
    threadId: string,
    { limit = 10, cursor = "0" }: PageOptions = {},
  ): Promise<readonly CheckpointSummary[] & { readonly cursor?: string | undefined }> {
    const all = this.saved.filter((one) => one.threadId === threadId).map(({ checkpointId }) => ({ checkpointId }));
    const end = Number(cursor) + limit;
    return page(all.slice(Number(cursor), end), end < all.length ? String(end) : undefined);
  }

  async delete(): Promise<boolean> {
    return false;
  }
}

describe("four methods are enough", () => {
  test("existence follows from loading", async () => {
    const smallest = new Smallest();
    expect(await smallest.exists("t")).toBe(false);
    const checkpointId = await smallest.save(AgentState.create(), "t");
    expect([await smallest.exists("t"), await smallest.exists("t", { checkpointId })]).toEqual([true, true]);
    expect(await smallest.exists("t", { checkpointId: "no" })).toBe(false);
  });

  test("the history follows from listing, to its last page", async () => {
    const smallest = new Smallest();
    for (let step = 0; step < 250; step++) await smallest.save(AgentState.create(), "t");
    const names: string[] = [];
    for await (const { checkpointId } of smallest.history("t")) names.push(checkpointId);
    expect(names).toHaveLength(250);
    expect([names[0], names[249]]).toEqual(["c250", "c1"]);
  });

  test("a diff follows from loading, and says which checkpoint is not there", async () => {
    const smallest = new Smallest();
    await smallest.save(AgentState.create(), "t");
    await smallest.save(AgentState.create().withMessage(userMessage("a")), "t");
    expect((await smallest.diff("t", "c1", "c2")).messages.added).toEqual([userMessage("a")]);
    const failure = await failureOf(() => smallest.diff("t", "c1", "c9"));
    expect(failure).toMatchObject({
      code: "NOT_FOUND",
      message: 'thread "t" has no checkpoint "c9"',
      context: { threadId: "t", checkpointId: "c9" },
    });
  });

  test("closing is allowed, also by `await using`", async () => {
    const smallest = new Smallest();
    await smallest.close();
    await smallest[Symbol.asyncDispose]();
  });
});

describe("what is not implemented says which flag is false", () => {
  const calls: readonly [flag: string, call: (checkpointer: Smallest) => unknown][] = [
    ["search", (one) => one.search("x")],
    ["metadataQuery", (one) => one.queryByMetadata("k", "v")],
    ["listWithMetadata", (one) => one.getMetadata("t")],
    ["vacuum", (one) => one.vacuum({ keepLast: 1 })],
    ["branching", (one) => one.copyThread("a", "b")],
    ["branching", (one) => one.fork("a", "b")],
    ["listThreads", (one) => one.listThreads()],
    ["listWithMetadata", (one) => one.listWithMetadata()],
    ["lease", (one) => one.withLease("t", async () => undefined)],
    ["watch", (one) => one.watch("t")],
  ];
  test.each(calls)("%s", async (capability, call) => {
    const failure = await failureOf(() => call(new Smallest()));
    expect(failure).toMatchObject({ code: "UNSUPPORTED", context: { capability } });
    expect(failure.message).toBe(
      `Smallest cannot do this: its capability "${capability}" is false. Check capabilities.${capability} first`,
    );
  });
});

describe("capabilities", () => {
  test("are all false until advertised", () => {
    for (const flag of CAPABILITY_FLAGS) expect(NO_CAPABILITIES[flag]).toBe(false);
    expect(capabilities({ search: true })).toEqual({ ...NO_CAPABILITIES, search: true });
    expect(Object.isFrozen(capabilities({}))).toBe(true);
  });

  test("the list of flags is complete", () => {
    const booleans = Object.entries(NO_CAPABILITIES).filter(([, value]) => typeof value === "boolean");
    expect([...CAPABILITY_FLAGS].sort()).toEqual(booleans.map(([name]) => name).sort());
  });
});

describe("BaseCheckpointer.is", () => {
  test("knows a checkpointer of another installed copy, and nothing else", () => {
    expect(BaseCheckpointer.is(new Smallest())).toBe(true);
    const foreign = Object.defineProperty({}, Symbol.for("holdfast.Checkpointer"), { value: true });
    expect(BaseCheckpointer.is(foreign)).toBe(true);
    for (const other of [undefined, null, {}, "checkpointer", { save: () => 1, load: () => 1 }]) {
      expect(BaseCheckpointer.is(other)).toBe(false);
    }
  });
});

test("a page is the list it prints as, and carries its cursor unseen", () => {
  const found = page([1, 2], "next");
  expect(found).toEqual([1, 2]);
  expect(JSON.stringify(found)).toBe("[1,2]");
  expect(Object.keys(found)).toEqual(["0", "1"]);
  expect(found.cursor).toBe("next");
});
