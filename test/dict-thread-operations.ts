import assert from "node:assert/strict";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { textOf, userMessage } from "../src/state/message.ts";

/** A state whose messages are told apart by their numbers. */
export const conversation = (length: number): AgentState =>
  AgentState.create({ messages: Array.from({ length }, (_, index) => userMessage(`message ${index + 1}`)) });

/** Large enough for a record to have its body apart. */
const AND_SO_ON = " and so on".repeat(60);

/** One checkpoint a message, named c1, c2, c3 … */
export async function grow(checkpointer: Checkpointer, threadId: string, length: number): Promise<AgentState> {
  let state = AgentState.create();
  for (let number = 1; number <= length; number++) {
    state = state.withMessage(userMessage(`message ${number}${AND_SO_ON}`));
    await checkpointer.save(state, threadId, { checkpointId: `c${number}` });
  }
  return state;
}

export async function loaded(checkpointer: Checkpointer, threadId: string): Promise<AgentState> {
  const state = await checkpointer.load(threadId);
  assert.ok(state !== undefined, `thread ${threadId} must be there`);
  return state;
}

export type Operation = (checkpointer: Checkpointer) => Promise<unknown>;

/** Everything that changes the thread `t` that `grow` made, or makes `u` of it. Each is one change, done whole or not at all. */
export const operationsOn = (length: number): Readonly<Record<string, Operation>> => ({
  "a save": saveAs("added"),
  "a save that moves a name": saveAs("c5"),
  "a save that moves the newest name": saveAs(`c${length}`),
  "the deletion of an old checkpoint": (checkpointer) => checkpointer.delete("t", { checkpointId: "c3" }),
  "the deletion of the newest checkpoint": (checkpointer) => checkpointer.delete("t", { checkpointId: `c${length}` }),
  "a vacuum": (checkpointer) => checkpointer.vacuum({ keepLast: 2 }),
  "the deletion of the thread": (checkpointer) => checkpointer.delete("t"),
  "a copy": (checkpointer) => checkpointer.copyThread("t", "u"),
  "a fork": (checkpointer) => checkpointer.fork("t", "u", { at: "c2" }),
});

const saveAs =
  (checkpointId: string): Operation =>
  async (checkpointer) => {
    const state = await loaded(checkpointer, "t");
    return checkpointer.save(state.withMessage(userMessage(`added${AND_SO_ON}`)), "t", { checkpointId });
  };

/**
 * What a reader can see of a thread: the names of its checkpoints, and the
 * states of the newest, of the oldest, of c4, which has to be written anew when
 * c3 is deleted, and of c15, which builds on all before it.
 */
export async function viewOf(checkpointer: Checkpointer, threadId: string): Promise<readonly string[]> {
  const view: string[] = [];
  const ids: string[] = [];
  for await (const { checkpointId } of checkpointer.history(threadId)) ids.push(checkpointId);
  for (const [index, checkpointId] of ids.entries()) {
    const isLoaded = index === 0 || index === ids.length - 1 || ["c4", "c15"].includes(checkpointId);
    view.push(isLoaded ? `${checkpointId}: ${await textAt(checkpointer, threadId, checkpointId)}` : checkpointId);
  }
  const newest = (await checkpointer.load(threadId))?.messages.map(textOf).join(", ");
  assert.equal(newest, view[0]?.slice(view[0].indexOf(": ") + 2), "load returns the newest that is listed");
  return view;
}

async function textAt(checkpointer: Checkpointer, threadId: string, checkpointId: string): Promise<string> {
  const state = await checkpointer.load(threadId, { checkpointId });
  assert.ok(state !== undefined, `checkpoint ${checkpointId} is listed and must load`);
  return state.messages.map(textOf).join(", ");
}

/** Forked checkpoints have random names, so `u` is told by its states. */
export async function viewsOf(checkpointer: Checkpointer): Promise<{ t: readonly string[]; u: readonly string[] }> {
  const u = await viewOf(checkpointer, "u");
  return { t: await viewOf(checkpointer, "t"), u: u.map((line) => line.slice(line.indexOf(": "))) };
}
