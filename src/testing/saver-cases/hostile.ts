import assert from "node:assert/strict";
import { StateError } from "../../errors.ts";
import type { Saver } from "../../saver/saver.ts";
import { failsWith, failureOf } from "../expect-failure.ts";
import { HOSTILE_IDS, REFUSED_IDS, shown } from "../hostile-ids.ts";
import { KEPT_VALUES, REFUSED_VALUES } from "../hostile-values.ts";
import { assertSame } from "../same-value.ts";
import { idsOf, putLine, type SaverCase, saved, saverCasesOf, writesOf } from "./saver-case.ts";

const callsWith = (saver: Saver, id: string): readonly (readonly [what: string, call: () => Promise<unknown>])[] => {
  const fine = { threadId: "t", checkpointId: "c", checkpointData: {} };
  return [
    ["put threadId", () => saver.put({ ...fine, threadId: id })],
    ["put checkpointId", () => saver.put({ ...fine, checkpointId: id })],
    ["put parentId", () => saver.put({ ...fine, parentId: id })],
    ["putWrites threadId", () => saver.putWrites({ threadId: id, checkpointId: "c", taskId: "a", writes: [["x", 1]] })],
    [
      "putWrites checkpointId",
      () => saver.putWrites({ threadId: "t", checkpointId: id, taskId: "a", writes: [["x", 1]] }),
    ],
    ["putWrites taskId", () => saver.putWrites({ threadId: "t", checkpointId: "c", taskId: id, writes: [["x", 1]] })],
    ["get threadId", () => saver.get({ threadId: id })],
    ["get checkpointId", () => saver.get({ threadId: "t", checkpointId: id })],
    ["listCheckpoints threadId", () => saver.listCheckpoints({ threadId: id })],
    ["deleteThread", () => saver.deleteThread(id)],
    ["copyThread source", () => saver.copyThread(id, "t")],
    ["copyThread target", () => saver.copyThread("t", id)],
  ];
};

export const hostileCases: readonly SaverCase[] = saverCasesOf("hostile input", [
  {
    name: "every hostile id is a checkpoint, a namespace and a task of its own",
    run: async ({ subject }) => {
      for (const [index, id] of HOSTILE_IDS.entries()) {
        await subject.put({ threadId: "t", checkpointId: id, checkpointData: { index } });
        await subject.put({ threadId: "t", checkpointNs: id, checkpointId: "c", checkpointData: { in: index } });
        await subject.putWrites({ threadId: "t", checkpointId: id, taskId: id, writes: [["x", index]] });
      }
      for (const [index, id] of HOSTILE_IDS.entries()) {
        const found = await saved(subject, { threadId: "t", checkpointId: id });
        assertSame(found.checkpointData, { index }, shown(id));
        assertSame(writesOf(found), [[id, "x", index]], shown(id));
        const inNamespace = await saved(subject, { threadId: "t", checkpointNs: id });
        assertSame(inNamespace.checkpointData, { in: index }, shown(id));
        assert.equal(inNamespace.checkpointNs, id, shown(id));
      }
      const listed = idsOf(await subject.listCheckpoints({ threadId: "t", checkpointNs: "" }));
      assert.deepEqual([...listed].sort(), [...HOSTILE_IDS].sort());
    },
  },
  {
    name: "every hostile id is a thread of its own, and deleting it touches no other",
    run: async ({ subject }) => {
      for (const [index, id] of HOSTILE_IDS.entries()) await putLine(subject, id, ["c"], { dataOf: () => ({ index }) });
      for (const [index, id] of HOSTILE_IDS.entries())
        if (index % 2 === 1) assert.equal(await subject.deleteThread(id), true, shown(id));
      for (const [index, id] of HOSTILE_IDS.entries()) {
        const found = await subject.get({ threadId: id });
        if (index % 2 === 1) assert.equal(found, undefined, shown(id));
        else assertSame(found?.checkpointData, { index }, shown(id));
      }
    },
  },
  {
    name: "ids that cannot be kept apart are refused by every method, and nothing is written",
    run: async ({ subject }) => {
      for (const { what, id } of REFUSED_IDS) {
        for (const [where, call] of callsWith(subject, id as string)) {
          await failsWith("INVALID_ARGUMENT", call, `${where}: ${what}`);
        }
        if (id !== "")
          await failsWith(
            "INVALID_ARGUMENT",
            () => subject.get({ threadId: "t", checkpointNs: id as string }),
            `namespace: ${what}`,
          );
      }
      assert.deepEqual(idsOf(await subject.listCheckpoints()), []);
    },
  },
  {
    name: "misspelt and misplaced arguments are refused",
    run: async ({ subject }) => {
      const wrong: readonly unknown[] = [
        undefined,
        null,
        "t",
        { thread_id: "t" },
        { threadId: "t", checkpoint_id: "c" },
      ];
      for (const given of wrong) {
        for (const method of ["put", "putWrites", "get"] as const) {
          await failsWith(
            "INVALID_ARGUMENT",
            () => subject[method](given as never),
            `${method} ${JSON.stringify(given)}`,
          );
        }
      }
      const at = { threadId: "t", checkpointId: "c" };
      for (const checkpointData of [undefined, null, [], "text", 1, new Map()]) {
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.put({ ...at, checkpointData: checkpointData as never }),
          "data",
        );
      }
      for (const writes of [undefined, {}, "x", [["x"]], [[1, 2]], ["xy"]]) {
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.putWrites({ ...at, taskId: "a", writes: writes as never }),
          "writes",
        );
      }
      for (const limit of [-1, 1.5, Number.NaN, "1"]) {
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.listCheckpoints({ threadId: "t", limit: limit as number }),
          "limit",
        );
      }
      for (const request of [{}, { keepLast: 0 }, { keepLast: 1, olderThan: new Date(0) }, { olderThan: 5 }]) {
        await failsWith("INVALID_ARGUMENT", () => subject.prune(request as never), `prune ${JSON.stringify(request)}`);
      }
      await failsWith("INVALID_ARGUMENT", () => subject.deleteForRuns({ runIds: [undefined] as never }), "a run id");
    },
  },
  {
    name: "every value of the corpus is kept exactly, in data, in a list, in metadata and in a write",
    run: async ({ subject }) => {
      for (const [index, { what, make }] of KEPT_VALUES.entries()) {
        const checkpointId = `c${100 + index}`;
        const data = { values: { value: make(), list: ["something before it, at length", make()] } };
        await subject.put({ threadId: "t", checkpointId, checkpointData: data, metadata: { value: index } });
        await subject.putWrites({ threadId: "t", checkpointId, taskId: "a", writes: [["x", make()]] });
        const found = await saved(subject, { threadId: "t", checkpointId });
        assertSame(
          found.checkpointData,
          { values: { value: make(), list: ["something before it, at length", make()] } },
          what,
        );
        assertSame(found.pendingWrites[0]?.value, make(), `${what} as a write`);
      }
    },
  },
  {
    name: "what cannot be kept is refused with the path to it, and nothing of the call is written",
    run: async ({ subject }) => {
      for (const { what, make } of REFUSED_VALUES) {
        const data = { values: { list: ["fine", make()] } };
        const error = await failureOf(
          () => subject.put({ threadId: "t", checkpointId: "c", checkpointData: data }),
          what,
        );
        assert.ok(StateError.is(error), `${what}: ${String(error)}`);
        assert.match(error.context.path ?? "", /^checkpointData\.values\.list\[1\]/, what);
        const at = { threadId: "t", checkpointId: "c", taskId: "a" };
        const late = await failureOf(
          () =>
            subject.putWrites({
              ...at,
              writes: [
                ["x", 1],
                ["y", make()],
              ],
            }),
          what,
        );
        assert.ok(StateError.is(late), `${what}: ${String(late)}`);
        assert.match(late.context.path ?? "", /^writes\[1\]\[1\]/, what);
      }
      assert.equal(await subject.deleteThread("t"), false);
    },
  },
  {
    name: "after close every call is CLOSED",
    run: async ({ subject }) => {
      await putLine(subject, "t", ["c1"]);
      await subject.close();
      const calls = callsWith(subject, "t").map(([what, call]) => [what, call] as const);
      for (const [what, call] of calls) await failsWith("CLOSED", call, what);
      await failsWith("CLOSED", () => subject.listThreads(), "listThreads");
      await failsWith("CLOSED", () => subject.prune({ keepLast: 1 }), "prune");
    },
  },
]);
