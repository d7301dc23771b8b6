import assert from "node:assert/strict";
import type { AgentState } from "../../src/state/agent-state.ts";
import { textOf } from "../../src/state/message.ts";
import type { Story } from "./story.ts";

/** What the agent let others see, and what a person said to it. Kept outside: it must not take any of it back. */
export interface Told {
  /** Calls of messages that a hook after the model was shown. */
  readonly asked: Set<string>;
  /** Calls that a hook after the tool was shown as settled. */
  readonly settled: Set<string>;
  /** Questions that were announced. */
  readonly questions: Set<string>;
  /** Questions that were answered. */
  readonly answered: Set<string>;
  /** Prompts that a word of the model's was seen of an answer to. */
  readonly heard: Set<string>;
  /** Messages that were shown, as `role: text`. */
  readonly messages: Set<string>;
}

export const nothingTold = (): Told => ({
  asked: new Set(),
  settled: new Set(),
  questions: new Set(),
  answered: new Set(),
  heard: new Set(),
  messages: new Set(),
});

/** Whatever was seen before the power went is there after it, as far as the story promises to save it. */
export function judgeTold({ kind, every }: Story, told: Told, found: AgentState | undefined): void {
  const executions = found?.toolExecutions ?? [];
  const questions = new Set(found?.interrupts.map(({ id }) => id));
  for (const id of told.questions) assert.ok(questions.has(id), `the question ${id} was announced and is not there`);
  const said = new Set((found?.messages ?? []).map((message) => `${message.role}: ${textOf(message)}`));
  for (const prompt of told.heard) {
    assert.ok(
      said.has(`user: ${prompt}`),
      `words were seen of an answer to ${JSON.stringify(prompt)}, which is not there`,
    );
  }
  // Calls that only read, saved less often than each time, may be lost and made again.
  if (kind === "pure" && every !== 1) return;
  for (const message of told.messages)
    assert.ok(said.has(message), `the message ${message} was shown and is not there`);
  for (const id of told.asked) {
    assert.ok(
      executions.some(({ toolCallId }) => toolCallId === id),
      `the call ${id} was announced and is not there`,
    );
  }
  for (const id of told.settled) {
    const status = executions.find(({ toolCallId }) => toolCallId === id)?.status ?? "gone";
    const isOpen = ["gone", "intended", "started", "waiting"].includes(status);
    assert.ok(!isOpen, `the call ${id} was announced as settled and is ${status}`);
  }
}
