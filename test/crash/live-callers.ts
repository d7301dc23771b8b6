import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { CoreAgent } from "../../src/agent/agent.ts";
import { repairHistory } from "../../src/agent/model-call/repair-history.ts";
import { type ToolEffect, tool } from "../../src/agent/tool-call/tool.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { StateError } from "../../src/errors.ts";
import { type Model, type ModelRequest, NO_USAGE } from "../../src/models/model.ts";
import type { AgentState } from "../../src/state/agent-state.ts";
import { textOf } from "../../src/state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { asProcessOfItsOwn } from "../agent/stored-thread.ts";
import type { SeededRandom } from "../processes/seeded-random.ts";
import { type Effects, effectsInMemory } from "./effects.ts";
import { Fuse } from "./fuse.ts";
import { stoppingLog } from "./stopping-log.ts";

/** What a caller does: says something of its own, repeats what the first one says, or resumes whatever is there. */
const CALLS = ["says", "repeats", "resumes"] as const;
const EFFECTS = ["atMostOnce", "verified", "idempotent"] as const;

export interface Gathering {
  readonly callers: readonly (typeof CALLS)[number][];
  readonly effect: (typeof EFFECTS)[number];
  /** Tools that the model calls at once. */
  readonly tools: 1 | 2;
  /** At which await point the first caller dies; `Infinity`: all live. */
  readonly cut: number;
}

export function gatheringOf(random: SeededRandom, callers: number, mayDie: boolean): Gathering {
  const others = Array.from({ length: callers - 1 }, () => CALLS[random.below(CALLS.length)]!);
  return {
    callers: ["says", ...others],
    effect: EFFECTS[random.below(EFFECTS.length)]!,
    tools: random.below(2) === 0 ? 1 : 2,
    cut: mayDie ? 1 + random.below(30) : Number.POSITIVE_INFINITY,
  };
}

let threads = 0;

/** Several callers of one thread, at once, each with a process of its own. Throws where a promise was broken. */
export async function gather(
  logOf: (process: number) => ThreadLog,
  gathering: Gathering,
  random: SeededRandom,
): Promise<void> {
  const threadId = `gathering ${++threads} ${random.below(1e9)}`;
  const effects = effectsInMemory();
  const dead = new Set<string>();
  const fuse = new Fuse(gathering.cut);
  const seen: (string | undefined)[] = [];
  const caller = async (number: number): Promise<void> => {
    const isMortal = number === 1;
    const log = logOf(number);
    const checkpointer = new Checkpointer(isMortal ? stoppingLog(log, fuse.point, (work) => fuse.storing(work)) : log);
    asProcessOfItsOwn(checkpointer, dead, number - 1);
    await sleep(random.below(4));
    const point = isMortal ? fuse.point : async (): Promise<void> => undefined;
    const agent = agentOf(gathering, checkpointer, effects, point);
    seen[number - 1] = await call(agent, threadId, gathering.callers[number - 1] ?? "resumes", number);
  };
  const first = caller(1);
  first.catch(() => undefined);
  const others = gathering.callers.slice(1).map((_, index) => caller(index + 2));
  const blown = fuse.blown.then(() => void dead.add("process 1"));
  await Promise.all([Promise.race([first, blown]), ...others]);
  const checkpointer = new Checkpointer(logOf(gathering.callers.length + 1));
  asProcessOfItsOwn(checkpointer, dead, gathering.callers.length);
  const point = async (): Promise<void> => undefined;
  if (dead.size > 0) await call(agentOf(gathering, checkpointer, effects, point), threadId, "resumes", 99);
  judge(gathering, await checkpointer.load(threadId), effects, seen, dead.size > 0);
  fuse.bury();
}

/** Many of them, each process with one driver for all. A failure says how to see it again. */
export async function gatherOften(
  open: () => ThreadLog,
  { count, callers, mayDie, random }: { count: number; callers: number; mayDie: boolean; random: SeededRandom },
): Promise<void> {
  const logs = Array.from({ length: callers + 1 }, open);
  const logOf = (number: number): ThreadLog => logs[number - 1] ?? open();
  for (let turn = 0; turn < count; turn++) {
    const gathering = gatheringOf(random, callers, mayDie);
    try {
      await gather(logOf, gathering, random);
    } catch (error) {
      throw new Error(`turn ${turn}, ${JSON.stringify(gathering)}: ${String(error)}`, { cause: error });
    }
  }
  for (const log of new Set(logs)) await log.close();
}

/** The text of the answer, or nothing where there was nothing to resume yet. */
async function call(agent: CoreAgent, threadId: string, how: string, number: number): Promise<string | undefined> {
  const prompt = how === "resumes" ? undefined : `caller ${how === "repeats" ? 1 : number}`;
  try {
    const options = prompt === undefined ? {} : { messageId: prompt };
    const { text, stopReason } = await agent.run(prompt, { threadId, ...options });
    assert.equal(stopReason, "complete");
    return text;
  } catch (error) {
    if (prompt === undefined && StateError.is(error, "NOT_FOUND")) return undefined;
    throw error;
  }
}

function agentOf(
  { effect, tools }: Gathering,
  checkpointer: Checkpointer,
  effects: Effects,
  point: (name: string) => Promise<void>,
): CoreAgent {
  const verify = async (_input: unknown, { idempotencyKey }: { idempotencyKey: string }) =>
    effects.all().some(({ key }) => key === idempotencyKey)
      ? ({ outcome: "done", result: "did it" } as const)
      : ({ outcome: "not-done" } as const);
  const kind: ToolEffect = effect === "idempotent" ? "idempotent" : "atMostOnce";
  const work = tool({
    name: "work",
    inputSchema: { type: "object", properties: { n: { type: "number" } } },
    effect: kind,
    ...(effect === "verified" && { verify }),
    execute: async (input, { toolCallId, idempotencyKey, attempt }) => {
      await point("tool begun");
      await sleep(1);
      await point("tool about to act");
      effects.add({ toolCallId, n: (input as { n: number }).n, key: idempotencyKey, attempt });
      await point("tool acted");
      return "did it";
    },
  });
  const model = modelOf(tools, point);
  return new CoreAgent({ model: async () => model, tools: [work], checkpointer: async () => checkpointer });
}

/** One round of calls for each prompt, then its answer: decided by what it is shown. */
function modelOf(tools: number, point: (name: string) => Promise<void>): Model {
  return {
    id: "gathering",
    async *stream({ messages }: ModelRequest) {
      await point("model asked");
      const turn = messages.findLastIndex(({ role }) => role === "user");
      const prompt = messages[turn] === undefined ? "" : textOf(messages[turn]);
      const hasCalled = messages.slice(turn).some(({ role }) => role === "assistant");
      if (hasCalled) yield { type: "text-delta", part: 0, text: `answer to ${prompt}` };
      else {
        for (let n = 1; n <= tools; n++) {
          yield { type: "tool-call", id: `${prompt} ${n}`, name: "work", argumentsText: JSON.stringify({ n }) };
        }
      }
      await point("model said");
      yield { type: "finish", reason: hasCalled ? "stop" : "tool-calls", usage: NO_USAGE };
    },
  };
}

function judge(
  { callers, effect }: Gathering,
  final: AgentState | undefined,
  effects: Effects,
  seen: readonly (string | undefined)[],
  hasDied: boolean,
): void {
  if (final === undefined) {
    assert.ok(hasDied, "the thread is gone");
    return;
  }
  assertValidForOpenAI(repairHistory(final.messages));
  assertValidForAnthropic(repairHistory(final.messages));
  const count = (role: string, text: string): number =>
    final.messages.filter((message) => message.role === role && textOf(message) === text).length;
  for (const [index, how] of callers.entries()) {
    if (how === "resumes" || (index === 0 && hasDied)) continue;
    const prompt = `caller ${how === "repeats" ? 1 : index + 1}`;
    assert.equal(count("user", prompt), 1, `how often ${prompt} was heard`);
    // The turn of a caller that died may be settled by the next one, whose answer is then that of both.
    const mayShare = hasDied && prompt === "caller 1";
    assert.match(seen[index] ?? "", mayShare ? /^answer to caller/ : new RegExp(`^answer to ${prompt}$`));
    const answers = count("assistant", `answer to ${prompt}`);
    assert.ok(answers === 1 || (mayShare && answers === 0), `${prompt} was answered ${answers} times`);
  }
  for (const { toolCallId, status } of final.toolExecutions) {
    const done = effects.all().filter((each) => each.toolCallId === toolCallId);
    const mayDoubt = hasDied && effect === "atMostOnce";
    assert.ok(status === "succeeded" || (mayDoubt && status === "unknown"), `${toolCallId} ended as ${status}`);
    const most = hasDied && effect === "idempotent" ? 2 : 1;
    assert.ok(done.length <= most, `${toolCallId} acted ${done.length} times`);
    if (status === "succeeded") assert.ok(done.length >= 1, `${toolCallId} succeeded without acting`);
    assert.equal(new Set(done.map(({ key }) => key)).size <= 1, true, "one key for every attempt");
  }
  const known = new Set(final.toolExecutions.map(({ toolCallId }) => toolCallId));
  for (const { toolCallId } of effects.all())
    assert.ok(known.has(toolCallId), `${toolCallId} acted unknown to the ledger`);
}
