import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BaseCheckpointer } from "../../src/checkpoint/base-checkpointer.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { newCheckpointId } from "../../src/saver/saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, toolMessage, userMessage } from "../../src/state/message.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import type { BaseStore } from "../../src/store/base-store.ts";
import { AgentSession } from "../../src/wiring/agent-session.ts";

export const KEY: string = randomBytes(32).toString("hex");

/** A word that only this person's data holds. No two begin alike: an index keeps only where words differ. Long enough to be no accident in megabytes of bytes. */
export const canary = (person: number): string =>
  `${((person * 7919 + 13) % 46_656).toString(36).padStart(3, "0")}zq${String(person).padStart(3, "0")}qz`;

export const userOf = (person: number): string => `user-${person}`;

const PER_THREAD = 10;

/**
 * Threads that several people share. Each person says something, is answered,
 * causes a tool call with a large result, and is in the state, in its metadata,
 * in a fork, in a session, in the thread of a graph, in an item with a vector,
 * and in user data.
 */
export async function fill(
  checkpointer: BaseCheckpointer,
  store: BaseStore,
  users: { set(userId: string, key: string, value: unknown): Promise<void> },
  people: number,
  { inGraph = true }: { readonly inGraph?: boolean } = {},
): Promise<readonly string[]> {
  const threads: string[] = [];
  const saver = inGraph && checkpointer.capabilities.branching ? saverOf(checkpointer) : undefined;
  for (let first = 0; first < people; first += PER_THREAD) {
    const threadId = `shared-${first / PER_THREAD}`;
    threads.push(threadId);
    let state = AgentState.create();
    for (let person = first; person < Math.min(first + PER_THREAD, people); person++) {
      const subject = userOf(person);
      const about = { metadata: { subject } };
      const [word, id] = [canary(person), `call-${person}`];
      state = state.withMessage(userMessage(`I am ${word}, help me`, about));
      await checkpointer.save(state, threadId, { metadata: { note: attributed(subject, word) } });
      const call = { id, name: "look_up", arguments: { name: word } };
      state = state.withMessage(assistantMessage("", { ...about, toolCalls: [call] }));
      state = state
        .withToolExecution({ toolCallId: id, toolName: "look_up", status: "failed", error: `no ${word}` })
        .withArtifact(id, `${word} `.repeat(50))
        .withMessage(toolMessage(`found ${word}`, { ...about, toolCallId: id, toolName: "look_up" }))
        .withMessage(assistantMessage([{ type: "text", text: `Hello ${word}` }], about))
        .withMetadata({ [`seat${person}`]: attributed(subject, { name: word }) });
      await checkpointer.save(state, threadId);
      await store.put(["facts"], `fact-${person}`, { text: `${word} likes tea` }, about);
      await store.put(["mixed"], `mixed-${person}`, { count: person, about: attributed(subject, word) });
      await users.set(subject, "email", `${word}@example.com`);
      await saver?.put({
        threadId: "graph",
        checkpointId: newCheckpointId(),
        checkpointData: { [subject]: attributed(subject, [`${word} is in a graph, too,`, `as a list of ${word}'s`]) },
      });
      const session = new AgentSession({ sessionId: `s-${person}`, userId: subject, backend: checkpointer });
      session.setWorking("draft", `about ${word}`);
      await session.checkpoint("done");
    }
  }
  if (checkpointer.capabilities.branching) await checkpointer.fork("shared-0", "forked");
  return [...threads, ...(checkpointer.capabilities.branching ? ["forked"] : [])];
}

/** Which of these people's words can be read in any file below. */
export async function readableIn(directory: string, people: readonly number[]): Promise<readonly number[]> {
  const found = new Set(await readableTexts(directory, people.map(canary)));
  return people.filter((person) => found.has(canary(person)));
}

/** Which of these texts are in any file below. */
export async function readableTexts(directory: string, wanted: readonly string[]): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) texts.push((await readFile(join(entry.parentPath, entry.name))).toString("latin1"));
  }
  return wanted.filter((each) => texts.some((text) => text.includes(each)));
}

export const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);
