import assert from "node:assert/strict";
import { type BaseCheckpointer, uncheckedHead } from "../../checkpoint/base-checkpointer.ts";
import { CAPABILITY_FLAGS, type CapabilityFlag } from "../../checkpoint/capabilities.ts";
import type { Lease } from "../../checkpoint/lease/lease.ts";
import { another, type Fixture } from "../conformance-case.ts";
import { failsWith } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertNoThread, conversation, growThread, historyOf, loaded } from "./conversations.ts";

/** What a flag promises when it is true, and what every call it governs does when it is false. */
interface Proof {
  readonly works: (fixture: Fixture<BaseCheckpointer>) => Promise<void>;
  /** Each must end with `UNSUPPORTED` and leave no thread `t`. */
  readonly refused: readonly ((subject: BaseCheckpointer) => unknown)[];
  /** What is true instead, where no call can be refused. */
  readonly otherwise?: (fixture: Fixture<BaseCheckpointer>) => Promise<void>;
}

const forgedLease = (): Lease => ({
  threadId: "t",
  owner: "forger",
  token: "forged",
  ttlMs: 1000,
  signal: new AbortController().signal,
});

const PROOFS: Readonly<Record<CapabilityFlag, Proof>> = {
  search: {
    works: async ({ subject }) => {
      await subject.save(conversation(1, "needle"), "t");
      assert.deepEqual(
        (await subject.search("needle")).map(({ threadId }) => threadId),
        ["t"],
      );
    },
    refused: [(subject) => subject.search("needle")],
  },
  metadataQuery: {
    works: async ({ subject }) => {
      await subject.save(conversation(1), "t", { metadata: { a: 1 } });
      assert.deepEqual(
        (await subject.queryByMetadata("a", 1)).map(({ threadId }) => threadId),
        ["t"],
      );
    },
    refused: [(subject) => subject.queryByMetadata("a", 1)],
  },
  vacuum: {
    works: async ({ subject }) => {
      await growThread(subject, "t", 3);
      assert.equal((await subject.vacuum({ keepLast: 1 })).checkpoints, 2);
    },
    refused: [(subject) => subject.vacuum({ keepLast: 1 })],
  },
  branching: {
    works: async ({ subject }) => {
      await subject.save(conversation(2), "t");
      await subject.copyThread("t", "copy");
      await subject.fork("t", "fork");
      for (const threadId of ["copy", "fork"]) assert.equal((await loaded(subject, threadId)).messages.length, 2);
    },
    refused: [(subject) => subject.copyThread("s", "t"), (subject) => subject.fork("s", "t")],
  },
  ttl: {
    works: async ({ subject }) => {
      await subject.save(conversation(1), "t", { ttlSeconds: 3600 });
      assert.equal((await loaded(subject, "t")).messages.length, 1);
    },
    refused: [(subject) => subject.save(conversation(1), "t", { ttlSeconds: 3600 })],
  },
  listThreads: {
    works: async ({ subject }) => {
      await subject.save(conversation(1), "t");
      assert.deepEqual([...(await subject.listThreads())], ["t"]);
    },
    refused: [(subject) => subject.listThreads()],
  },
  listWithMetadata: {
    works: async ({ subject }) => {
      await subject.save(conversation(1), "t", { metadata: { a: 1 } });
      const [thread] = await subject.listWithMetadata();
      assert.deepEqual([thread?.threadId, thread?.metadata], ["t", { a: 1 }]);
      assert.deepEqual(await subject.getMetadata("t"), { a: 1 });
    },
    refused: [(subject) => subject.listWithMetadata()],
  },
  persistentCheckpointIds: {
    works: async (fixture) => {
      const { subject, reopen } = fixture;
      assert.notEqual(subject.capabilities.durability, "memory");
      const checkpointId = await subject.save(conversation(2), "t");
      if (reopen === undefined) return;
      await subject.close();
      assert.equal((await loaded(await another(fixture), "t", { checkpointId })).messages.length, 2);
    },
    refused: [],
    otherwise: async ({ subject }) => {
      assert.equal(subject.capabilities.durability, "memory", "ids that are not kept are those of memory");
    },
  },
  conditionalSave: {
    works: async ({ subject }) => {
      const state = conversation(1);
      await subject.save(state, "t");
      await subject.save(and(state, "message 2"), "t");
      await failsWith("CONFLICT", () => subject.save(and(state, "lost"), "t"), "the second of two writers");
    },
    refused: [
      (subject) => subject.save(conversation(1), "t", { expectedHead: "c" }),
      (subject) => subject.save(conversation(1), "t", { expectedHead: null }),
    ],
  },
  history: {
    works: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2);
      assert.deepEqual(await historyOf(subject, "t"), ids.toReversed());
      assert.equal((await loaded(subject, "t", { checkpointId: ids[0] as string })).messages.length, 1);
    },
    refused: [],
    otherwise: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      assert.deepEqual(await historyOf(subject, "t"), [ids[2]], "only the newest is kept");
      assert.equal(await subject.load("t", { checkpointId: ids[0] as string }), undefined);
    },
  },
  lease: {
    works: async ({ subject }) => {
      await subject.withLease("t", (lease) => subject.save(conversation(1), "t", { lease }));
      assert.equal((await loaded(subject, "t")).messages.length, 1);
    },
    refused: [
      (subject) => subject.withLease("t", async () => undefined),
      (subject) => subject.save(conversation(1), "t", { lease: forgedLease(), expectedHead: uncheckedHead }),
    ],
  },
  watch: {
    works: async ({ subject }) => {
      const controller = new AbortController();
      const first = subject.watch("t", { signal: controller.signal })[Symbol.asyncIterator]().next();
      controller.abort();
      await first;
    },
    refused: [(subject) => subject.watch("t")],
  },
};

const proofOf = (flag: CapabilityFlag): Omit<CheckpointerCase, "area"> => ({
  name: `the flag ${flag} is true and it works, or false and the call says so`,
  run: async (fixture) => {
    const { works, refused, otherwise } = PROOFS[flag];
    const { subject } = fixture;
    if (subject.capabilities[flag]) return works(fixture);
    for (const call of refused) {
      const error = await failsWith("UNSUPPORTED", () => call(subject), `a call that needs ${flag}`);
      assert.equal(error.context.capability, flag);
      assert.ok(error.message.includes(flag), `the message must name ${flag}: ${error.message}`);
    }
    if (refused.length > 0) await assertNoThread(subject, "t");
    await otherwise?.(fixture);
  },
});

export const flagCases: readonly CheckpointerCase[] = checkpointerCasesOf("capabilities", [
  {
    name: "every flag is there, is a boolean, and stays as it is",
    run: async ({ subject }) => {
      const before = { ...subject.capabilities };
      for (const flag of CAPABILITY_FLAGS) assert.equal(typeof before[flag], "boolean", flag);
      assert.ok(["index", "scan", "none"].includes(before.searchMethod), `searchMethod is ${before.searchMethod}`);
      assert.equal(before.searchMethod === "none", !before.search, "searchMethod and search say the same");
      assert.ok(
        ["memory", "os", "fsync", "replicated"].includes(before.durability),
        `durability is ${before.durability}`,
      );
      assert.ok(before.limits.maxRecordBytes > 0, "limits are numbers");
      await growThread(subject, "t", 2);
      assert.deepEqual({ ...subject.capabilities }, before);
    },
  },
  ...CAPABILITY_FLAGS.map(proofOf),
]);
