import { expect, test } from "vitest";
import { HistoryRepair, repairHistory } from "../../src/agent/model-call/repair-history.ts";
import { askedIn, isRepairRequest, repairRequest, turnOf } from "../../src/agent/run/turn-number.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { callAt, countInDoubt, hasEndedTurn } from "../../src/state/call-facts.ts";
import { diffFields } from "../../src/state/delta.ts";
import type { StateFields, ToolExecution } from "../../src/state/fields.ts";
import { assistantMessage, type Message, toolMessage, userMessage } from "../../src/state/message.ts";
import { subjectOfTurn } from "../../src/state/people/subjects.ts";
import { seededRandom } from "../processes/seeded-random.ts";
import { seed } from "../property-seed.ts";

/** Long enough that calls are older than those that may still change, and changes older than those that are remembered. */
const STEPS = 600;
/** Of how many steps one rewrites something, in each walk. */
const REWRITES = [30, 150, 1_000];

/** What grows is looked at where it grew. This looks at everything, every time. */
const naive = {
  asked: (messages: readonly Message[]) =>
    [...messages].reverse().find((message) => message.role === "user" && !isRepairRequest(message)),
  turn: (messages: readonly Message[]) =>
    messages.filter((message) => message.role === "user" && !isRepairRequest(message)).length,
  subject: (messages: readonly Message[]) =>
    [...messages].reverse().find(({ role }) => role === "user")?.metadata?.["subject"],
  callAt: (calls: readonly ToolExecution[], id: string) => calls.map(({ toolCallId }) => toolCallId).lastIndexOf(id),
  inDoubt: (calls: readonly ToolExecution[]) => calls.filter(({ status }) => /^(started|unknown)$/.test(status)).length,
  hasEnded: (calls: readonly ToolExecution[], ids: readonly string[]) =>
    calls.some((call) => call.terminal === true && call.status === "succeeded" && ids.includes(call.toolCallId)),
};

/** The same items in lists that came from nowhere. */
const ofNoDescent = ({ fields }: AgentState): StateFields => ({
  ...fields,
  messages: [...fields.messages],
  toolExecutions: [...fields.toolExecutions],
});

test.each(REWRITES)(
  "rewritten in one of %i steps: facts derived incrementally, while a conversation grows, branches, is edited or cut, equal those of a full scan",
  (rare) => {
    console.log(`HOLDFAST_SEED=${seed}`);
    const random = seededRandom(seed + rare);
    const pick = <T>(items: readonly T[]): T => items[random.below(items.length)] as T;
    const STATUSES = ["intended", "started", "succeeded", "failed", "unknown", "pending"] as const;
    let calls = 0;
    const execution = (toolCallId: string): ToolExecution => ({
      toolCallId,
      toolName: "work",
      status: pick(STATUSES),
      ...(random.below(20) === 0 && { terminal: true }),
    });
    const knownId = ({ toolExecutions }: AgentState): string => {
      const reach = random.below(10) === 0 ? toolExecutions.length : Math.min(5, toolExecutions.length);
      return toolExecutions.at(-1 - random.below(Math.max(1, reach)))?.toolCallId ?? "call 0";
    };
    const said = (): Message =>
      pick<() => Message>([
        () => userMessage("words", random.below(2) === 0 ? {} : { metadata: { subject: `person ${random.below(3)}` } }),
        () => repairRequest("again", undefined),
        () => assistantMessage("an answer"),
        () => toolMessage("a result", { toolCallId: `call ${random.below(calls + 1)}`, toolName: "work" }),
        () => ({ role: "system", content: "a rule" }),
      ])();
    const asks = (state: AgentState): AgentState => {
      const id = `call ${calls++}`;
      const message: Message = {
        role: "assistant",
        content: "",
        toolCalls: [{ id, name: "work", arguments: { n: calls } }],
      };
      return state
        .withMessage(message)
        .withToolExecution(execution(id))
        .withMessage(toolMessage("did it", { toolCallId: id, toolName: "work" }));
    };
    const grows: readonly ((state: AgentState) => AgentState)[] = [
      asks,
      asks,
      asks,
      (state) => state.withMessage(said()),
      (state) => state.withMessages([said(), said()]),
      (state) => state.withToolExecution(execution(knownId(state))),
      (state) => state.withToolExecution(state.toolExecutions.at(-1) ?? execution("call 0")),
    ];
    const rewrites: readonly ((state: AgentState) => AgentState)[] = [
      (state) => state.withHistory([...state.messages.slice(0, -2), said()]),
      (state) => state.withHistory([said(), ...state.messages.slice(-Math.ceil(state.messages.length / 2))]),
      (state) => state.with({ toolExecutions: state.toolExecutions.filter(() => random.below(30) > 0) }),
      (state) => AgentState.fromCheckpoint(state.toCheckpoint()),
    ];
    let pool = [AgentState.create(), AgentState.create()];
    const repairs = [new HistoryRepair(), new HistoryRepair()];

    for (let step = 0; step < STEPS; step++) {
      const place = random.below(pool.length);
      const before = pool[place] as AgentState;
      const after = pick(random.below(rare) === 0 ? rewrites : grows)(before);
      // Now and then the older one is continued as well: a fork.
      if (random.below(25) === 0) pool = [...pool, after].slice(-4);
      else pool[place] = after;

      const { messages, toolExecutions } = pick([after, after, before, ...pool]);
      expect(turnOf({ messages })).toBe(naive.turn(messages));
      expect(askedIn({ messages })).toBe(naive.asked(messages));
      expect(subjectOfTurn(messages)?.subject).toBe(naive.subject(messages));
      expect(countInDoubt(toolExecutions)).toBe(naive.inDoubt(toolExecutions));
      const ids = [`call ${calls}`, `call ${random.below(calls + 1)}`, toolExecutions.at(-1)?.toolCallId ?? ""];
      for (const id of ids) expect(callAt(toolExecutions, id)).toBe(naive.callAt(toolExecutions, id));
      expect(hasEndedTurn(toolExecutions, ids)).toBe(naive.hasEnded(toolExecutions, ids));
      const other = pick(pool);
      expect(diffFields(other.fields, after.fields).delta).toEqual(
        diffFields(ofNoDescent(other), ofNoDescent(after)).delta,
      );
      expect(pick(repairs).repair(messages)).toEqual(repairHistory([...messages]));
    }
  },
);
