/** What other checkpointers are known to get wrong, on every backend that needs no service. One list, so one long file. */
import { readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openCheckpointer } from "../src/backends/open.ts";
import { uncheckedHead } from "../src/checkpoint/base-checkpointer.ts";
import { CAPABILITY_FLAGS, type CapabilityFlag } from "../src/checkpoint/capabilities.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../src/checkpoint/context.ts";
import { StateError } from "../src/errors.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { assistantMessage, toolMessage, userMessage } from "../src/state/message.ts";
import { exactForm } from "./exact-form.ts";
import { failureOf } from "./failure-of.ts";
import { bytesIn, LOCAL_BACKENDS, type LocalStorage, tearFileWith } from "./local-backends.ts";

const said = (...texts: readonly string[]): AgentState =>
  AgentState.create().withMessages(texts.map((text) => userMessage(text)));

describe.each(LOCAL_BACKENDS)("$name", (backend) => {
  let storage: LocalStorage;
  let checkpointer: Checkpointer;
  const open = (options?: CheckpointerOptions): Checkpointer => storage.open(options);

  beforeEach(async () => {
    storage = await backend.create();
    checkpointer = open();
  });
  afterEach(() => storage.dispose());

  const texts = async (thread: string, checkpointId?: string): Promise<unknown> =>
    (await checkpointer.load(thread, checkpointId === undefined ? {} : { checkpointId }))?.messages.map(
      ({ content }) => content,
    );
  const names = async (thread: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { checkpointId } of checkpointer.history(thread)) found.push(checkpointId);
    return found;
  };
  /** Saves "1", then "1","2", … under the names c1, c2, … */
  const steps = async (thread: string, count: number): Promise<AgentState> => {
    let state = AgentState.create();
    for (let step = 1; step <= count; step++) {
      state = state.withMessage(userMessage(`${step}`));
      await checkpointer.save(state, thread, { checkpointId: `c${step}`, metadata: { step } });
    }
    return state;
  };

  test("what the factory returns takes a state and gives the same state back", async () => {
    const made = backend.construct({});
    const state = said("hello").withMetadata({ at: new Date(0) });
    expect(exactForm((await checkpointer.load("t"))?.fields)).toBe(exactForm(undefined));
    await checkpointer.save(state, "t");
    expect(exactForm((await open().load("t"))?.fields)).toBe(exactForm(state.fields));
    await made.close();
  });

  test("listing threads by a pattern gives their ids, all of them, and nothing else", async () => {
    const ids = ["t1", "t2", "user:7", "a%b", "a_b"];
    for (const id of ids) await steps(id, 2);
    expect([...(await checkpointer.listThreads({ pattern: "*" }))].sort()).toEqual([...ids].sort());
    expect([...(await checkpointer.listThreads())].sort()).toEqual([...ids].sort());
    expect(await checkpointer.listThreads({ pattern: "t?" })).toHaveLength(2);
    expect(await checkpointer.listThreads({ limit: 3 })).toHaveLength(3);
    expect(await checkpointer.listThreads({ pattern: "%" })).toEqual([]);
  });

  test("a deleted checkpoint cannot be loaded, and the one before it is the newest", async () => {
    await steps("t", 3);
    expect(await checkpointer.delete("t", { checkpointId: "c3" })).toBe(true);
    expect(await texts("t", "c3")).toBeUndefined();
    expect(await texts("t")).toEqual(["1", "2"]);
    await checkpointer.delete("t", { checkpointId: "c1" });
    await checkpointer.delete("t", { checkpointId: "c2" });
    expect(await checkpointer.load("t")).toBeUndefined();
    expect(await checkpointer.exists("t")).toBe(false);
    expect(await checkpointer.listThreads()).toEqual([]);
  });

  test("a copy's newest is its source's newest, and so is its order", async () => {
    await steps("source", 3);
    expect(await checkpointer.copyThread("source", "copy")).toBe(true);
    expect(await texts("copy")).toEqual(["1", "2", "3"]);
    expect(await names("copy")).toEqual(["c3", "c2", "c1"]);
    await checkpointer.fork("source", "fork", { at: "c2" });
    expect(await texts("fork")).toEqual(["1", "2"]);
  });

  test("a save that is refused loses nothing: the state is in hand and saves when the fault is gone", async () => {
    const state = await steps("t", 1);
    const answer = state.withMessage(assistantMessage("the answer"));
    const failure = await failureOf(() => checkpointer.save(answer, "t", { metadata: { run: { callback: () => 1 } } }));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", context: { path: "metadata.run.callback" } });
    expect(await names("t")).toEqual(["c1"]);
    await checkpointer.save(answer, "t", { metadata: { run: 1 } });
    expect(await texts("t")).toEqual(["1", "the answer"]);
  });

  test("of two runs on one thread, the second is told, and no turn is lost", async () => {
    await steps("t", 1);
    const [one, two] = [open(), open()];
    const [a, b] = [(await one.load("t"))!, (await two.load("t"))!];
    await one.save(a.withMessage(userMessage("A")), "t");
    expect(await failureOf(() => two.save(b.withMessage(userMessage("B")), "t"))).toMatchObject({ code: "CONFLICT" });
    await two.save((await two.load("t"))!.withMessage(userMessage("B")), "t");
    expect(await texts("t")).toEqual(["1", "A", "B"]);
  });

  test("ten saves at once are all listed, all loadable, and all deleted", async () => {
    await steps("t", 1);
    const saved = await Promise.all(
      Array.from({ length: 10 }, (_, index) => {
        const writer = open();
        return writer.save(said(`writer ${index}`), "t", { checkpointId: `w${index}`, expectedHead: uncheckedHead });
      }),
    );
    expect([...(await names("t"))].sort()).toEqual(["c1", ...saved].sort());
    for (const id of saved) expect(await texts("t", id)).toEqual([`writer ${id.slice(1)}`]);
    await checkpointer.delete("t");
    for (const checkpointId of saved) expect(await open().load("t", { checkpointId })).toBeUndefined();
  });

  test(`deleting a thread of ${backend.longThread} checkpoints leaves nothing behind, and copying takes them all`, async () => {
    const ids: string[] = [];
    let state = AgentState.create();
    for (let step = 1; step <= backend.longThread; step++) {
      state = state.withUsage({ iterations: 1 });
      ids.push(await checkpointer.save(state, "t"));
    }
    expect(await names("t")).toEqual(ids.toReversed());
    await checkpointer.copyThread("t", "copy");
    expect(await checkpointer.delete("t")).toBe(true);
    for (const checkpointId of [ids[0]!, ids[400]!, ids.at(-1)!]) {
      expect(await open().load("t", { checkpointId })).toBeUndefined();
    }
    expect(await names("t")).toEqual([]);
    expect(await checkpointer.listThreads()).toEqual(["copy"]);
    expect(await names("copy")).toEqual(ids.toReversed());
    expect((await checkpointer.load("copy", { checkpointId: ids[6]! }))?.totals.iterations).toBe(7);
  });

  test.runIf(backend.name === "file")("a torn record is named, and harms no other thread", async () => {
    let state = said("sound");
    await checkpointer.save(state, "torn", { checkpointId: "before" });
    state = state.withMessage(userMessage("needle-in-the-torn-one"));
    await checkpointer.save(state, "torn", { checkpointId: "after" });
    await steps("whole", 2);
    const path = await tearFileWith(storage.directory!, "needle-in-the-torn-one");
    const reopened = open();
    const failure = await failureOf(() => reopened.load("torn"));
    expect(failure.code).toBe("CORRUPT");
    expect(`${failure.message} ${failure.context.location}`).toContain(path.split("/").at(-1));
    expect((await reopened.load("whole"))?.messages).toHaveLength(2);
    await reopened.save((await reopened.load("whole"))!.withMessage(userMessage("3")), "whole");
  });

  test("after a vacuum every listed checkpoint loads, and the report counts checkpoints", async () => {
    await steps("a", 5);
    await steps("b", 1);
    expect(await checkpointer.vacuum({ keepLast: 2, dryRun: true })).toMatchObject({ checkpoints: 3, threads: 0 });
    expect(await checkpointer.vacuum({ keepLast: 2 })).toMatchObject({ checkpoints: 3, threads: 0 });
    expect(await names("a")).toEqual(["c5", "c4"]);
    for (const id of await names("a")) expect(await texts("a", id)).toHaveLength(Number(id.slice(1)));
    const later = open({ now: () => Date.now() + 40 * 86_400_000 });
    expect(await later.vacuum({ olderThanDays: 30 })).toMatchObject({ checkpoints: 3, threads: 2 });
    expect(await checkpointer.listThreads()).toEqual([]);
  });

  test("the newest is the last that was saved, whatever the clock says", async () => {
    for (const now of [() => 1_000, () => 5_000, () => 10, () => 10]) {
      const writer = open({ now });
      const state = (await writer.load("t")) ?? AgentState.create();
      await writer.save(state.withMessage(userMessage(`${state.messages.length}`)), "t");
    }
    expect(await texts("t")).toEqual(["0", "1", "2", "3"]);
    expect((await checkpointer.listCheckpoints("t")).map(({ messageCount }) => messageCount)).toEqual([4, 3, 2, 1]);
  });

  test("fields of a newer version survive an older program that loads and saves", async () => {
    const newer = AgentState.fromCheckpoint({
      format: 1,
      state: {
        messages: [{ role: "user", content: "a", tone: "dry" }],
        planner: { depth: [1, { $: "bigint", v: "2" }] },
      },
    });
    await checkpointer.save(newer, "t");
    await checkpointer.save((await checkpointer.load("t"))!.withMessage(userMessage("b")), "t");
    const state = (await open().load("t"))!;
    expect(state.fields).toMatchObject({ planner: { depth: [1, 2n] } });
    expect(state.messages[0]).toMatchObject({ tone: "dry" });
  });

  test("ids that would meet when joined stay apart, and no id is reserved", async () => {
    const pairs = [
      ["a:b", "c"],
      ["a", "b:c"],
      ["a:b", "latest"],
      ["a", "latest"],
      ["a", "_checkpoints"],
      ["a:latest", "x"],
      ["latest", "latest"],
    ] as const;
    for (const [thread, checkpointId] of pairs) {
      const state = said(`${thread} | ${checkpointId}`);
      await checkpointer.save(state, thread, { checkpointId, expectedHead: uncheckedHead });
    }
    for (const [thread, id] of pairs) expect(await texts(thread, id)).toEqual([`${thread} | ${id}`]);
    expect(await names("a")).toEqual(["_checkpoints", "latest", "b:c"]);
  });

  test("ids that look alike once cleaned up stay apart; none is empty and long ones work", async () => {
    const ids = [
      "user@a.com",
      "user_a_com",
      "user/a.com",
      "user a com",
      "USER@A.COM",
      "user@a.com.",
      "é",
      "e\u0301",
      "x".repeat(300),
    ];
    for (const id of ids) await checkpointer.save(said(id), id);
    for (const id of ids) expect(await texts(id)).toEqual([id]);
    expect(await checkpointer.listThreads()).toHaveLength(ids.length);
    expect(await failureOf(() => checkpointer.save(said("x"), ""))).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await failureOf(() => checkpointer.save(said("x"), "x".repeat(1_025)))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  test("a pair of ids is a pair, not a path", async () => {
    await checkpointer.save(said("pair"), "users", { checkpointId: "alice" });
    await checkpointer.save(said("path"), "users/alice", { checkpointId: "users" });
    expect([await texts("users", "alice"), await texts("users/alice", "users")]).toEqual([["pair"], ["path"]]);
    await checkpointer.delete("users", { checkpointId: "alice" });
    expect(await texts("users/alice")).toEqual(["path"]);
  });

  test("an id that climbs stays where it is, also when it is deleted", async () => {
    const ids = ["..", ".", "../..", "../../../etc/passwd", "%2e%2e", "..\\..", "/abs"];
    if (storage.directory) await writeFile(join(dirname(storage.directory), "neighbour"), "untouched");
    await steps("other", 1);
    for (const id of ids) await checkpointer.save(said(id), id, { checkpointId: ".." });
    for (const id of ids) {
      expect(await texts(id, "..")).toEqual([id]);
      expect(await checkpointer.delete(id, { checkpointId: ".." })).toBe(true);
      expect(await checkpointer.load(id)).toBeUndefined();
    }
    expect(await texts("other")).toEqual(["1"]);
    if (storage.directory) {
      expect((await readdir(dirname(storage.directory))).sort()).toEqual(["inside", "neighbour"]);
    }
  });

  test("deleting one thread does not touch one whose id goes on after it", async () => {
    for (const id of ["org", "org/alice", "org/", "orgs", "org:bob"]) await steps(id, 2);
    expect(await checkpointer.delete("org")).toBe(true);
    expect([...(await checkpointer.listThreads())].sort()).toEqual(["org/", "org/alice", "org:bob", "orgs"]);
    for (const id of ["org/alice", "org/", "orgs", "org:bob"]) expect(await texts(id)).toEqual(["1", "2"]);
  });

  test("characters that are wildcards to a database are only characters", async () => {
    for (const id of ["a_b", "aXb", "a%b", "a\\b", "a[x]b"]) {
      await checkpointer.save(said(`${id} 100%_sure`), id, { metadata: { "k%": "v_v" } });
    }
    for (const id of ["a_b", "a%b", "a[x]b"]) expect(await checkpointer.listThreads({ pattern: id })).toEqual([id]);
    expect(await checkpointer.search("100%")).toHaveLength(5);
    expect(await checkpointer.search("1_0")).toEqual([]);
    expect(await checkpointer.queryByMetadata("k%", "v_v")).toHaveLength(5);
    expect(await checkpointer.queryByMetadata("k%", "vXv")).toEqual([]);
    expect(await checkpointer.queryByMetadata("kX", "v_v")).toEqual([]);
  });

  test("fifteen tool results of 10 kB are stored about once, not fifty-six times", async () => {
    const payload = 15 * 10_240;
    let state = said("go");
    await checkpointer.save(state, "t");
    for (let call = 0; call < 15; call++) {
      const [toolCallId, toolName] = [`c${call}`, "read"];
      state = state
        .withMessage(assistantMessage("", { toolCalls: [{ id: toolCallId, name: toolName, arguments: { call } }] }))
        .withToolExecution({ toolCallId, toolName, status: "started" });
      await checkpointer.save(state, "t");
      state = state
        .withMessage(toolMessage(`${call}`.padEnd(10_240, "x"), { toolCallId, toolName }))
        .withToolExecution({ toolCallId, toolName, status: "succeeded" });
      await checkpointer.save(state, "t");
    }
    expect((await checkpointer.stats("t"))!.bytes).toBeLessThan(2 * payload);
    if (storage.directory) {
      await checkpointer.close();
      expect(await bytesIn(storage.directory)).toBeLessThan(2.5 * payload);
    }
  });

  test("a growing chat is stored once; its middle can go, and an id can be saved again", async () => {
    let state = AgentState.create();
    const random = Array.from({ length: 40 }, (_, index) =>
      `${index} `.padEnd(1_000, String.fromCharCode(97 + (index % 26))),
    );
    for (const [index, text] of random.entries()) {
      state = state.withMessage(userMessage(text));
      await checkpointer.save(state, "t", { checkpointId: `c${index}` });
    }
    expect((await checkpointer.stats("t"))!.bytes).toBeLessThan(3 * random.join("").length);
    await checkpointer.delete("t", { checkpointId: "c20" });
    await checkpointer.delete("t", { checkpointId: "c0" });
    for (const index of [1, 19, 21, 39]) expect(await texts("t", `c${index}`)).toEqual(random.slice(0, index + 1));
    for (let again = 0; again < 3; again++) await checkpointer.save(state, "t", { checkpointId: "c39" });
    expect(await texts("t")).toEqual(random);
  });

  test("a load reads the chain it needs, not every checkpoint of the thread", async () => {
    const state = await steps("t", 100);
    await checkpointer.save(state.withHistory([userMessage("summary")]), "t");
    const stats = (await checkpointer.stats("t"))!;
    expect(stats.checkpoints).toBe(101);
    expect(stats.loadRecords).toBe(1);
    expect(await texts("t")).toEqual(["summary"]);
  });

  test("what a flag promises works, and what it denies says so by the flag's name", async () => {
    const state = await steps("t", 2);
    const calls: Readonly<Record<CapabilityFlag, () => Promise<unknown>>> = {
      search: async () => expect(await checkpointer.search("1")).toHaveLength(1),
      metadataQuery: async () => expect(await checkpointer.queryByMetadata("step", 2)).toHaveLength(1),
      vacuum: () => checkpointer.vacuum({ keepLast: 10 }),
      branching: () => checkpointer.fork("t", "fork"),
      ttl: () => checkpointer.save(said("brief"), "brief", { ttlSeconds: 60 }),
      listThreads: async () => expect(await checkpointer.listThreads()).toContain("t"),
      listWithMetadata: async () => {
        expect(await checkpointer.listWithMetadata({ pattern: "t" })).toMatchObject([{ metadata: { step: 2 } }]);
        expect(await checkpointer.getMetadata("t", { checkpointId: "c1" })).toEqual({ step: 1 });
      },
      persistentCheckpointIds: async () => expect(await open().exists("t", { checkpointId: "c1" })).toBe(true),
      conditionalSave: () => checkpointer.save(state, "t", { expectedHead: "c2" }),
      history: async () => expect(await texts("t", "c1")).toEqual(["1"]),
      lease: () => checkpointer.withLease("leased", async () => undefined),
      watch: async () => checkpointer.watch("t", { signal: AbortSignal.abort() }),
    };
    for (const flag of CAPABILITY_FLAGS) {
      const outcome = await calls[flag]().then(
        () => "works",
        (error: unknown) => (StateError.is(error, "UNSUPPORTED") ? `denied: ${error.context.capability}` : error),
      );
      const denied = flag === "persistentCheckpointIds" ? "works" : `denied: ${flag}`;
      expect(outcome, flag).toBe(checkpointer.capabilities[flag] ? "works" : denied);
    }
    expect(checkpointer.capabilities.persistentCheckpointIds).toBe(backend.durable);
  });

  test("an option that does not exist is refused, by its name", async () => {
    for (const option of ["schema", "direcotry", "pathh", "basedir", "__proto__x"]) {
      const failure = await failureOf(() => backend.construct({ [option]: "x" }));
      expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
      expect(failure.message).toContain(JSON.stringify(option));
    }
    const typo = await failureOf(() => openCheckpointer("sqlite:./never-made.db?tabelPrefix=x"));
    expect(typo.message).toContain("tabelPrefix");
    expect(await failureOf(() => openCheckpointer("sqlit:./never-made.db"))).toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  test("U+0000, lone surrogates and duplicate-looking keys are kept as they are", async () => {
    const awkward = { "\u0000": "a\u0000b", "\ud800": "\udfff", "1e2": 100, "100": 1e2, é: 1, "e\u0301": 2 };
    const state = said("nul \u0000 and half \ud83d").withMetadata(awkward);
    await checkpointer.save(state, "t", { metadata: awkward });
    expect(exactForm((await open().load("t"))?.fields)).toBe(exactForm(state.fields));
    expect(exactForm(await checkpointer.getMetadata("t"))).toBe(exactForm(awkward));
  });

  test("the history holds the checkpoints that were saved, newest first, and nothing else", async () => {
    await steps("t", 3);
    await checkpointer.withLease("t", async () => undefined);
    await checkpointer.delete("t", { checkpointId: "c2" });
    expect(await names("t")).toEqual(["c3", "c1"]);
    expect((await checkpointer.listCheckpoints("t")).map(({ checkpointId }) => checkpointId)).toEqual(["c3", "c1"]);
  });
});
