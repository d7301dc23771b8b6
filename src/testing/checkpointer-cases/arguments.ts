import assert from "node:assert/strict";
import type { PageOptions } from "../../checkpoint/base-checkpointer.ts";
import { failsWith } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { growThread } from "./conversations.ts";

const WRONG_LIMITS: readonly unknown[] = [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "10", 1e9, {}, true];
const WRONG_CURSORS: readonly unknown[] = [5, {}, ["a"], true];

const pagesOf = (subject: Parameters<CheckpointerCase["run"]>[0]["subject"]) => {
  const { search, metadataQuery, listThreads, listWithMetadata } = subject.capabilities;
  const calls: Record<string, (options: PageOptions) => Promise<unknown>> = {
    listCheckpoints: async (options) => subject.listCheckpoints("t", options),
    ...(search && { search: async (options) => subject.search("message", options) }),
    ...(metadataQuery && { queryByMetadata: async (options) => subject.queryByMetadata("a", 1, options) }),
    ...(listThreads && { listThreads: async (options) => subject.listThreads(options) }),
    ...(listWithMetadata && { listWithMetadata: async (options) => subject.listWithMetadata(options) }),
  };
  return Object.entries(calls);
};

export const argumentCases: readonly CheckpointerCase[] = checkpointerCasesOf("arguments", [
  {
    name: "a limit that is no reasonable number is INVALID_ARGUMENT",
    needs: ["history"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 2);
      for (const [method, call] of pagesOf(subject)) {
        for (const limit of WRONG_LIMITS) {
          await failsWith("INVALID_ARGUMENT", () => call({ limit: limit as number }), `${method}, limit ${limit}`);
        }
      }
    },
  },
  {
    name: "a cursor that is no text is INVALID_ARGUMENT",
    needs: ["history"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 2);
      for (const [method, call] of pagesOf(subject)) {
        if (method === "search") continue;
        for (const cursor of WRONG_CURSORS) {
          await failsWith("INVALID_ARGUMENT", () => call({ cursor: cursor as string }), `${method}, cursor ${cursor}`);
        }
      }
    },
  },
  {
    name: "a cursor that listCheckpoints did not make is INVALID_ARGUMENT",
    needs: ["history"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 2);
      for (const cursor of ["", "x", "-1", "1e3", "0x1", "1;--", "\u0661", " 1"]) {
        await failsWith("INVALID_ARGUMENT", () => subject.listCheckpoints("t", { cursor }), `cursor ${cursor}`);
      }
    },
  },
  {
    name: "a cursor that another method made, or that was made up, is INVALID_ARGUMENT",
    needs: ["listThreads"],
    run: async ({ subject }) => {
      for (const threadId of ["a", "b", "c"]) await growThread(subject, threadId, 2);
      const { cursor: ofCheckpoints } = await subject.listCheckpoints("a", { limit: 1 });
      const { cursor: ofThreads } = await subject.listThreads({ limit: 1 });
      assert.notEqual(ofThreads, undefined, "a page of one of three");
      for (const cursor of ["", "garbage", "zzzz", "a", "0", ofCheckpoints, `${ofThreads}x`]) {
        if (cursor === undefined) continue;
        await failsWith("INVALID_ARGUMENT", () => subject.listThreads({ cursor }), `listThreads, cursor ${cursor}`);
      }
      if (!subject.capabilities.metadataQuery) return;
      for (const cursor of ["garbage", ofThreads as string]) {
        const query = (): Promise<unknown> => subject.queryByMetadata("a", 1, { cursor });
        await failsWith("INVALID_ARGUMENT", query, `queryByMetadata, cursor ${cursor}`);
      }
    },
  },
  {
    name: "a pattern, a query and a key that are no text are INVALID_ARGUMENT",
    needs: ["listThreads", "search", "metadataQuery"],
    run: async ({ subject }) => {
      for (const wrong of [1, null, {}, ["a"], { toString: () => "*" }] as unknown as string[]) {
        await failsWith("INVALID_ARGUMENT", () => subject.listThreads({ pattern: wrong }), "pattern");
        await failsWith("INVALID_ARGUMENT", () => subject.search(wrong), "query");
        await failsWith("INVALID_ARGUMENT", () => subject.queryByMetadata(wrong, 1), "key");
      }
      await failsWith("INVALID_ARGUMENT", () => subject.queryByMetadata("a", () => 1), "a value that cannot be stored");
    },
  },
  {
    name: "a page of nothing is empty",
    needs: ["history"],
    run: async ({ subject }) => {
      await growThread(subject, "t", 2);
      for (const [method, call] of pagesOf(subject))
        assert.deepEqual([...((await call({ limit: 0 })) as [])], [], method);
    },
  },
]);
