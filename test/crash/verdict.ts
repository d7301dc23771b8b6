import assert from "node:assert/strict";
import { repairHistory } from "../../src/agent/model-call/repair-history.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { type Message, textOf } from "../../src/state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { inDoubt } from "./clerk.ts";
import type { Effect } from "./effects.ts";
import type { Return } from "./life.ts";
import { ANSWER, LATER_ANSWER, LATER_PROMPT, PROMPT, resultFor, type Story } from "./story.ts";

export interface Evidence {
  readonly story: Story;
  readonly back: Return;
  readonly effects: readonly Effect[];
  /** Requests that a provider would have refused. */
  readonly faults: readonly string[];
  /** What each process found that came after a cut. */
  readonly found: readonly (AgentState | undefined)[];
  readonly final: AgentState | undefined;
}

/** Throws where a promise was broken. */
export function judge(evidence: Evidence): void {
  const { final, faults, found } = evidence;
  assert.ok(final !== undefined, "the thread is gone");
  assert.deepEqual(faults, [], "a provider would have refused a request");
  assertValidForOpenAI(repairHistory(final.messages));
  assertValidForAnthropic(repairHistory(final.messages));
  for (const earlier of found) judgeLoss(earlier, final);
  judgeConversation(evidence, final);
  judgeCalls(evidence, final);
}

/** What was there after a crash is still there, in the same place. */
function judgeLoss(earlier: AgentState | undefined, final: AgentState): void {
  const before = earlier?.messages ?? [];
  assert.deepEqual(final.messages.slice(0, before.length), before, "what was stored before is not there any more");
}

function judgeConversation({ story, back }: Evidence, final: AgentState): void {
  const count = (role: string, text: string): number =>
    final.messages.filter((message) => message.role === role && textOf(message) === text).length;
  assert.equal(count("user", PROMPT), 1, "how often the prompt is in the conversation");
  assert.equal(count("user", LATER_PROMPT), back === "say something new" ? 1 : 0, "how often the later prompt is");
  const users = final.messages.filter(({ role }) => role === "user").length;
  assert.equal(users, back === "say something new" ? 2 : 1, "messages of the user");
  if (back === "say something new") {
    assert.equal(count("assistant", LATER_ANSWER), 1, "how often the later prompt was answered");
    assert.ok(count("assistant", ANSWER) <= 1, "the prompt was answered twice");
  } else {
    assert.equal(count("assistant", ANSWER), 1, "how often the prompt was answered");
    const rounds = final.messages.filter((message) => message.role === "assistant" && message.toolCalls !== undefined);
    assert.equal(rounds.length, story.tools === 0 ? 0 : 2, "messages of the model with calls");
  }
}

function judgeCalls({ story, effects }: Evidence, final: AgentState): void {
  const calls = final.messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
  assert.equal(final.toolExecutions.length, calls.length, "entries in the ledger");
  for (const call of calls) {
    const { n } = call.arguments as { n: number };
    const results = final.messages.filter((message) => message.role === "tool" && message.toolCallId === call.id);
    assert.equal(results.length, 1, `results of call ${call.id}`);
    const [said, answer] = [final.messages.findIndex(isCallOf(call.id)), final.messages.indexOf(results[0]!)];
    const between = final.messages.slice(said, answer).some(({ role }) => role === "user");
    assert.ok(!between, `call ${call.id} was not settled before the user's next words`);
    const { status } = final.toolExecutions.find(({ toolCallId }) => toolCallId === call.id)!;
    const done = effects.filter(({ toolCallId }) => toolCallId === call.id);
    judgeEffects(story, status, done);
    if (story.kind === "retried") judgeAttempts(final, call.id, done);
    if (story.kind === "delegated") judgeClerk(textOf(results[0]!), n, done);
    else if (status === "succeeded") assert.equal(textOf(results[0]!), resultFor(n), `the result of call ${call.id}`);
  }
  const known = new Set(calls.map(({ id }) => id));
  assert.deepEqual(
    effects.filter(({ toolCallId }) => !known.has(toolCallId)),
    [],
    "a tool acted although the conversation does not know of the call",
  );
}

/** The sub-agent's call is always brought to its end; what it did is as its own ledger says. */
function judgeClerk(said: string, n: number, done: readonly Effect[]): void {
  assert.ok(said === resultFor(n) || said === inDoubt(n), `a clerk said ${JSON.stringify(said)}`);
  if (said === resultFor(n)) assert.equal(done.length, 1, "a clerk says that it acted");
}

/** The attempt that failed is in the ledger, unless a crash came before its failure; the key was the same each time. */
function judgeAttempts(final: AgentState, callId: string, done: readonly Effect[]): void {
  const {
    attempts = 0,
    failures = [],
    idempotencyKey,
  } = final.toolExecutions.find(({ toolCallId }) => toolCallId === callId)!;
  assert.ok(attempts >= 2, "a call that fails at first is tried again");
  assert.ok(failures.length <= 1 && failures.every(({ attempt }) => attempt === 1), "recorded failures");
  for (const { key, attempt } of done) {
    assert.equal(key, idempotencyKey, "the key of an attempt");
    assert.ok(attempt >= 2 && attempt <= attempts, "the attempt that acted");
  }
}

const isCallOf =
  (id: string) =>
  (message: Message): boolean =>
    message.role === "assistant" && (message.toolCalls ?? []).some((call) => call.id === id);

function judgeEffects({ kind }: Story, status: string, done: readonly Effect[]): void {
  const keys = new Set(done.map(({ key }) => key));
  switch (kind) {
    case "pure":
      assert.equal(status, "succeeded");
      assert.equal(done.length, 0);
      return;
    case "idempotent":
      assert.equal(status, "succeeded");
      assert.equal(keys.size, 1, "distinct keys under which an idempotent call acted");
      return;
    case "retried":
      assert.equal(status, "succeeded", "a call that is tried again comes to its end");
      assert.equal(keys.size, 1, "distinct keys under which a call acted that was tried again");
      return;
    case "verified":
      assert.equal(status, "succeeded", "a call that can be verified is never left in doubt");
      assert.equal(done.length, 1, "how often a call acted that can be verified");
      return;
    default:
      assert.ok(status === "succeeded" || (status === "unknown" && kind !== "delegated"), `a call ended as ${status}`);
      assert.ok(done.length <= 1, `a call that acts at most once acted ${done.length} times`);
      if (status === "succeeded" && kind !== "delegated")
        assert.equal(done.length, 1, "a call succeeded without acting");
  }
}
