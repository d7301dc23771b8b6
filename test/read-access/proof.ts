import { expect, test } from "vitest";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../src/checkpoint/context.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { readingCalls, writingCalls } from "./every-method.ts";
import { fillStore } from "./fill-store.ts";

/** A store of one backend, empty at first. */
export interface ObservedStore {
  /** As another process would open it. */
  open(options: CheckpointerOptions): Checkpointer;
  /** All that is stored, and whatever tells of a write, by name. Two of them are compared as they are. */
  contents(): Promise<Readonly<Record<string, string>>>;
  /** Resolves when an open writer has nothing left to do by itself. Without it, there never is anything. */
  settled?(): Promise<void>;
  cleanup?(): Promise<void>;
}

export interface ReadAccessProof {
  readonly name: string;
  readonly create: () => Promise<ObservedStore>;
  /** A store that does not exist, for backends where stores have to be created. */
  readonly missing?: () => Promise<ObservedStore>;
  /** Whether `connect` asks the storage anything. @default true */
  readonly connects?: boolean;
}

/** The proof that looking changes nothing, for any backend. */
export function testReadAccess({ name, create, missing, connects = true }: ReadAccessProof): void {
  const observed = async (make: () => Promise<ObservedStore>, prove: (store: ObservedStore) => Promise<void>) => {
    const store = await make();
    try {
      await prove(store);
    } finally {
      await store.cleanup?.();
    }
  };

  for (const writerIs of ["closed", "open"] as const) {
    test(`every reading method leaves ${name} byte for byte as it was, with the writer ${writerIs}`, () =>
      observed(create, async (store) => {
        const writer = store.open({});
        const filled = await fillStore(writer);
        const expected = await answersOf(readingCalls(writer, filled));
        // The search above brought the index up to date. What comes now is behind it again.
        await writer.save(AgentState.create().withMessage(userMessage("a zebra")), "later");
        if (writerIs === "closed") await writer.close();
        else await store.settled?.();
        const before = await store.contents();
        const reader = store.open({ access: "read" });
        for (const [method, call] of Object.entries(readingCalls(reader, filled))) {
          const answer = await answerOf(call);
          expect(await store.contents(), `after ${method}`).toEqual(before);
          if (AS_OF_NOW.includes(method)) continue;
          expect(answer, method).toEqual(expected[method]);
        }
        const found = (await reader.search("zebra")).map(({ threadId }) => threadId);
        expect(found.sort()).toEqual(["behind the index", "later"]);
        await reader.close();
        expect(await store.contents(), "after close").toEqual(before);
        await writer.close();
      }));
  }

  test(`every writing method on ${name} with read access is PERMISSION_DENIED and names the option`, () =>
    observed(create, async (store) => {
      const writer = store.open({});
      const filled = await fillStore(writer);
      await writer.close();
      const before = await store.contents();
      // Before anything else is called: what is refused is refused without any contact.
      const reader = store.open({ access: "read" });
      for (const [method, call] of Object.entries(writingCalls(reader, filled))) {
        const { code, message } = await failureOf(call);
        expect([method, code]).toEqual([method, "PERMISSION_DENIED"]);
        expect(message).toContain('access: "read"');
      }
      expect(await store.contents()).toEqual(before);
      await reader.connect();
      const { vacuum, branching, ttl, lease, conditionalSave } = reader.capabilities;
      expect({ vacuum, branching, ttl, lease, conditionalSave }).toEqual({
        vacuum: false,
        branching: false,
        ttl: false,
        lease: false,
        conditionalSave: false,
      });
      await reader.close();
      expect(await store.contents()).toEqual(before);
    }));

  test(`a reader of ${name} sees what is saved beside it and blocks no writer`, () =>
    observed(create, async (store) => {
      const writer = store.open({ retry: { attempts: 1 } });
      await writer.save(AgentState.create(), "t", { expectedHead: null });
      const reader = store.open({ access: "read" });
      const looking = new AbortController();
      const looks = (async () => {
        while (!looking.signal.aborted) {
          await reader.load("t");
          await reader.listCheckpoints("t");
        }
      })();
      let state = AgentState.create();
      for (let index = 1; index <= 40; index++) {
        state = ((await writer.load("t")) ?? state).withMessage(userMessage(`message ${index}`));
        await writer.save(state, "t");
        expect((await reader.load("t"))?.messages.length).toBe(index);
      }
      looking.abort();
      await looks;
      await reader.close();
      await writer.close();
    }));

  if (missing === undefined) return;
  test(`where there is no store of ${name}, read access says NOT_FOUND and makes nothing`, () =>
    observed(missing, async (store) => {
      const before = await store.contents();
      const reader = store.open({ access: "read" });
      for (const [method, call] of Object.entries(readingCalls(reader, { ids: ["a", "b"] }))) {
        if (method === "capabilities" || (method === "connect" && !connects)) continue;
        const { code, message } = await failureOf(call);
        expect([method, code, message]).toEqual([
          method,
          "NOT_FOUND",
          expect.stringContaining("there is no store here"),
        ]);
      }
      await reader.close();
      expect(await store.contents()).toEqual(before);
    }));
}

/** Answers that differ with the access, or with what was saved after the writer was asked. */
const AS_OF_NOW: readonly string[] = ["connect", "capabilities", "listThreads", "listWithMetadata", "search"];

async function answersOf(calls: Readonly<Record<string, () => Promise<unknown>>>): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [method, call] of Object.entries(calls)) answers[method] = await answerOf(call);
  return answers;
}

/** A state compares by its fields. */
async function answerOf(call: () => Promise<unknown>): Promise<unknown> {
  const answer = await call();
  return answer instanceof AgentState ? answer.fields : answer;
}
