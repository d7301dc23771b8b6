import { assertKnownOptions, described } from "../internal/known-options.ts";
import { assertKinds, assertRanges } from "../internal/option-table.ts";
import { assertSubjects } from "../state/people/subjects.ts";
import type { AgentHooks } from "./hooks.ts";
import { ANSWER_OPTIONS, COMPLETE_OPTIONS, RUN_OPTIONS } from "./option-tables.ts";
import type { AnswerOptions, RunOptions } from "./run-options.ts";
import type { CompleteOptions } from "./tool-call/completing.ts";

export function assertRunOptions(options: RunOptions): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(
      `run() takes its options as an object, not ${described(options)}. Write agent.run(prompt, { threadId: "…" })`,
    );
  }
  assertKinds("run()", options, RUN_OPTIONS);
  assertRanges("run()", options, RUN_OPTIONS);
  if (options.outputSchema !== undefined && options.whenBusy === "enqueue") {
    throw new TypeError(
      'run(): with whenBusy "enqueue" the run that is under way gives the answer, so outputSchema cannot be asked for',
    );
  }
  assertSignal("run()", options.signal);
  assertTask("run()", options);
  assertWhenBusy("run()", options.whenBusy);
  if (options.backTo !== undefined && options.threadId === undefined) {
    throw new TypeError("run(): backTo names a checkpoint of a thread; it needs a threadId");
  }
}

/**
 * A lost parameter of a request must not become a conversation that is saved nowhere.
 */
export function assertThreadNamed(options: RunOptions): void {
  if (!("threadId" in options) || options.threadId !== undefined) return;
  throw new TypeError(
    "run(): threadId is undefined, so nothing would be saved, although the agent has a checkpointer. Most often a " +
      "parameter of a request is missing, or has another name. Leave threadId out for a run that is not to be kept",
  );
}

export function assertAnswerOptions(options: AnswerOptions): void {
  const usage = "Write agent.answer({ threadId, id, response })";
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`answer() takes one object, not ${described(options)}. ${usage}`);
  }
  assertKinds("answer()", options, ANSWER_OPTIONS);
  assertRanges("answer()", options, ANSWER_OPTIONS);
  for (const name of ["threadId", "id"] as const) {
    if (options[name] === undefined) throw new TypeError(`answer() needs ${name}. ${usage}`);
  }
  const isDeclined = options.decline !== undefined && options.decline !== false;
  if (isDeclined === "response" in options) {
    const both = isDeclined ? "a response or decline, not both" : "a response, or decline: true";
    throw new TypeError(`answer() needs ${both}. ${usage}`);
  }
  assertSignal("answer()", options.signal);
  assertTask("answer()", options);
  assertWhenBusy("answer()", options.whenBusy);
}

const WHEN_BUSY: ReadonlySet<unknown> = new Set(["wait", "reject", "enqueue", undefined]);

export function assertWhenBusy(where: string, whenBusy: unknown): void {
  if (WHEN_BUSY.has(whenBusy)) return;
  throw new TypeError(`${where}: whenBusy must be "wait", "reject" or "enqueue", not ${described(whenBusy)}`);
}

function assertTask(where: string, { session, subject }: Pick<RunOptions, "session" | "subject">): void {
  if (subject !== undefined) assertSubjects(subject);
  if (session === undefined || typeof (session as { finished?: unknown }).finished === "function") return;
  throw new TypeError(`${where}: session must be a task of a session. Write { session: session.task("report_done") }`);
}

function assertSignal(where: string, signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  const advice = signal instanceof AbortController ? "; write controller.signal" : "";
  throw new TypeError(`${where}: signal must be an AbortSignal, not ${described(signal)}${advice}`);
}

const HOOKS: Readonly<Record<keyof AgentHooks, "function">> = {
  beforeRun: "function",
  beforeIteration: "function",
  beforeModel: "function",
  afterModel: "function",
  beforeTool: "function",
  afterTool: "function",
  afterIteration: "function",
  afterRun: "function",
  guardPrompt: "function",
  guardAnswer: "function",
  guardCall: "function",
  guardResult: "function",
};

/** An object of a class may have more than its hooks; one that was written down may not. */
export function assertHooks(hooks: AgentHooks): void {
  if (Object.getPrototypeOf(hooks) === Object.prototype) assertKnownOptions("Agent({ hooks })", hooks, HOOKS);
}

export function assertMethods(where: string, value: object, methods: readonly string[]): void {
  const missing = methods.find((name) => typeof (value as Readonly<Record<string, unknown>>)[name] !== "function");
  if (missing === undefined) return;
  throw new TypeError(
    `${where} must be an object with ${methods.map((name) => `${name}()`).join(" and ")}; ${missing}() is missing`,
  );
}

export function assertCompleteOptions(options: CompleteOptions): void {
  const usage = "Write agent.complete({ threadId, toolCallId, result })";
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`complete() takes one object, not ${described(options)}. ${usage}`);
  }
  assertKinds("complete()", options, COMPLETE_OPTIONS);
  assertRanges("complete()", options, COMPLETE_OPTIONS);
  for (const name of ["threadId", "toolCallId"] as const) {
    if (options[name] === undefined) throw new TypeError(`complete() needs ${name}. ${usage}`);
  }
  if ("result" in options === "error" in options) {
    throw new TypeError(`complete() needs a result or an error, one of the two. ${usage}`);
  }
}
