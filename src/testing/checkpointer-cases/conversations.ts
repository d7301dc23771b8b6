import assert from "node:assert/strict";
import type {
  BaseCheckpointer,
  CheckpointRef,
  CheckpointSummary,
  PageOptions,
  SaveOptions,
} from "../../checkpoint/base-checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { assistantMessage, systemMessage, textOf, toolMessage, userMessage } from "../../state/message.ts";
import { assertSame } from "../same-value.ts";

/** A conversation with this many messages, each of which says which one it is. */
export const conversation = (count: number, words = "message"): AgentState =>
  AgentState.create().withMessages(Array.from({ length: count }, (_, index) => userMessage(`${words} ${index + 1}`)));

export const and = (state: AgentState, text: string): AgentState => state.withMessage(userMessage(text));

export const textsOf = (state: AgentState): readonly string[] => state.messages.map(textOf);

/** A thread that grew by one message a save; checkpoint i holds i messages. */
export async function growThread(
  checkpointer: BaseCheckpointer,
  threadId: string,
  count: number,
  options: (index: number) => SaveOptions = () => ({}),
): Promise<{ readonly state: AgentState; readonly ids: readonly string[] }> {
  let state = AgentState.create();
  const ids: string[] = [];
  for (let index = 1; index <= count; index++) {
    state = and(state, `message ${index}`);
    ids.push(await checkpointer.save(state, threadId, options(index)));
  }
  return { state, ids };
}

export async function loaded(
  checkpointer: BaseCheckpointer,
  threadId: string,
  ref: CheckpointRef = {},
): Promise<AgentState> {
  const state = await checkpointer.load(threadId, ref);
  const which = ref.checkpointId === undefined ? "" : ` at ${ref.checkpointId}`;
  if (state === undefined) throw new assert.AssertionError({ message: `thread ${threadId}${which} must be there` });
  return state;
}

/** A page of checkpoints, as summaries also where the backend lists plain ids. */
export async function listCheckpoints(
  checkpointer: BaseCheckpointer,
  threadId: string,
  options: PageOptions = {},
): Promise<{ readonly items: readonly CheckpointSummary[]; readonly cursor: string | undefined }> {
  const found = await checkpointer.listCheckpoints(threadId, options);
  const items = found.map((each) => (typeof each === "string" ? { checkpointId: each } : each));
  return { items, cursor: found.cursor };
}

/** Every checkpoint id, newest first. */
export async function historyOf(checkpointer: BaseCheckpointer, threadId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { checkpointId } of checkpointer.history(threadId)) ids.push(checkpointId);
  return ids;
}

/**
 * The thread is exactly this: these checkpoints, newest first, each with its number of
 * messages.
 */
export async function assertHistory(
  checkpointer: BaseCheckpointer,
  threadId: string,
  expected: readonly (readonly [checkpointId: string | undefined, messages: number])[],
): Promise<void> {
  assert.deepEqual(
    await historyOf(checkpointer, threadId),
    expected.map(([id]) => id),
    `the history of ${threadId}`,
  );
  for (const [checkpointId, messages] of expected) {
    const state = await loaded(checkpointer, threadId, checkpointId === undefined ? {} : { checkpointId });
    assertSame(textsOf(state), textsOf(conversation(messages)), `the messages at ${checkpointId}`);
  }
  const newest = await checkpointer.load(threadId);
  assert.equal(newest?.messages.length, expected[0]?.[1], "the newest is the first of the history");
}

export async function assertNoThread(checkpointer: BaseCheckpointer, threadId: string): Promise<void> {
  assert.equal(await checkpointer.load(threadId), undefined, "load");
  assert.equal(await checkpointer.exists(threadId), false, "exists");
  assert.deepEqual([...(await checkpointer.listCheckpoints(threadId))], [], "listCheckpoints");
  if (!checkpointer.capabilities.listThreads) return;
  assert.ok(!(await checkpointer.listThreads({ limit: 1000 })).includes(threadId), "listThreads");
}

/** A state with something in every field, and every kind of value the codec knows. */
/** A call was asked for and not begun. */
export const withOpenCall = (): AgentState =>
  AgentState.create()
    .withMessages([
      userMessage("pay"),
      assistantMessage("", { toolCalls: [{ id: "call-1", name: "pay", arguments: {} }] }),
    ])
    .withToolExecution({ toolCallId: "call-1", toolName: "pay", status: "intended", idempotencyKey: "the key" });

export const fullState = (): AgentState =>
  AgentState.create({ agentId: "agent-7" })
    .withMessages([
      systemMessage("be brief", { id: "m0" }),
      userMessage(
        [
          { type: "text", text: "look" },
          { type: "file", mediaType: "image/png", data: Uint8Array.of(137, 80, 255, 0) },
        ],
        { name: "ann" },
      ),
      assistantMessage([{ type: "reasoning", text: "hm", providerMetadata: { openai: { signature: "s\u0000g" } } }], {
        toolCalls: [
          {
            id: "call-1",
            name: "search",
            arguments: { query: "\u4f1a\u8bdd", limits: [1, -0, Number.NaN], since: new Date(0) },
          },
        ],
        incomplete: true,
      }),
      toolMessage("3 results", { toolCallId: "call-1", toolName: "search", isError: false, metadata: { took: 12n } }),
    ])
    .withToolExecution({
      toolCallId: "call-1",
      toolName: "search",
      status: "succeeded",
      idempotencyKey: "k",
      startedAt: 1,
      settledAt: 2,
    })
    .withReasoningStep({ iteration: 1, thought: "search first", confidence: 0.5 })
    .withError({ at: 3, where: "tool search", message: "slow" })
    .withUsage({ runs: 1, iterations: 2, inputTokens: 30, outputTokens: 40 })
    .withInterrupt({
      id: "i1",
      toolCallId: "call-1",
      kind: "question",
      question: "which one?",
      askedAt: 4,
      answer: { value: [1n], at: 5 },
    })
    .withArtifact("result of call-1", "a very long text")
    .withProviderState({ anthropic: { cache: new Map([["a", new Set([1, 2])]]) } })
    .withMetadata({
      when: new Date(1767225600123),
      big: 2n ** 70n,
      map: new Map<unknown, unknown>([[{ key: 1 }, [undefined, null]]]),
      set: new Set(["b", "a"]),
      bytes: Uint8Array.from({ length: 256 }, (_, index) => index),
      buffer: Buffer.from("buffer"),
      odd: [undefined, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
      nothing: null,
    });
