/** Long because the options of an agent and of its runs stand beside the class that takes them. */

import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { assertCheckpointer } from "../checkpoint/assert-checkpointer.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import type { LeaseOptions } from "../checkpoint/lease.ts";
import { loadState } from "../checkpoint/loaded-state.ts";
import { StateError } from "../errors.ts";
import { reasonOf } from "../internal/reason-of.ts";
import type { Model } from "../models/model.ts";
import type { AnySchema } from "../models/schema.ts";
import { AgentState } from "../state/agent-state.ts";
import { type UserMessage, userMessage } from "../state/message.ts";
import { assertPrompt, assertResumeOptions, assertRunOptions } from "./assert-run-options.ts";
import { assertTools } from "./assert-tools.ts";
import type { RunEvent, RunResult } from "./events.ts";
import { type FixedParts, fixedParts } from "./fixed-parts.ts";
import { type AgentHooks, runAfter } from "./hooks.ts";
import { Inbox } from "./inbox.ts";
import { answerInterrupt, pendingInterrupts } from "./interrupts.ts";
import { heardBy, joinRun } from "./joining.ts";
import { LimitGuard, type RunLimits } from "./limits.ts";
import { drive, type Ending } from "./loop.ts";
import { asOnlyWriter, LEASE_MS, Overtaken, type Place, WAIT_MS, type WhenBusy } from "./only-writer.ts";
import { begin, nothingToResume, type Opening } from "./opening.ts";
import type { ConversationPort, MemoryPort } from "./ports.ts";
import { releaseAtExit } from "./release-at-exit.ts";
import { HistoryRepair } from "./repair-history.ts";
import { Run } from "./run.ts";
import type { AgentParts, RunContext } from "./run-context.ts";
import { lastText, RunError } from "./run-error.ts";
import { sessionStorage } from "./session-storage.ts";
import { loadTelemetry, type Telemetry } from "./telemetry.ts";
import { ThreadSession } from "./thread-session.ts";
import type { Tool } from "./tool.ts";
import { changedTools, withToolList } from "./tool-list.ts";
import { readResultTool } from "./tool-result.ts";
import { leaveUnsettled, settleError, settleThread } from "./unsettled.ts";

export interface CoreAgentOptions extends RunLimits {
  /** Resolved when the first run needs it. */
  readonly model: () => Promise<Model>;
  readonly checkpointer?: () => Promise<BaseCheckpointer>;
  readonly tools?: readonly Tool[];
  /** Shown to the model before everything else. Not part of the thread: change it any time. */
  readonly systemPrompt?: string;
  /**
   * 1: after each iteration. n: after every n-th; a crash may cost the model's
   * answers and the results of pure tools since then. "end": likewise, since the
   * run began. The user's message, and every call that has effects, are durable
   * before the next step in any case. @default 1
   */
  readonly checkpointEveryNIterations?: number | "end";
  /** How many tools may run at once. @default 10 */
  readonly toolConcurrency?: number;
  /** A result longer than this is kept beside the conversation, and the model reads it in parts. @default 32000 */
  readonly maxToolResultChars?: number;
  readonly memory?: MemoryPort;
  readonly conversation?: ConversationPort;
  readonly hooks?: AgentHooks;
  /** The answer must be JSON that fits. */
  readonly outputSchema?: AnySchema;
  /** How often the model is asked again for an answer that does not fit. @default 2 */
  readonly maxOutputRepairs?: number;
  /**
   * How a run holds its thread, so that no other run works on it at the same
   * time: `ttlMs` after its last sign of life it counts as dead (15000), a second
   * run waits `waitMs` for it (60000). `false` gives this up: two runs of one
   * thread then work side by side until one of them gets `CONFLICT`. @default true
   */
  readonly lease?: boolean | Omit<LeaseOptions, "signal">;
  /** What a run does whose thread another run has, unless it says so itself. @default "wait" */
  readonly whenBusy?: WhenBusy;
  /** How long a save that settles a call with effects is tried when the storage cannot be reached. @default 60000 */
  readonly saveRetryMs?: number;
  /** @default Date.now */
  readonly now?: () => number;
}

export interface RunOptions {
  /** The conversation to continue. Without it nothing is saved. */
  readonly threadId?: string;
  readonly signal?: AbortSignal;
  /** Merged into the thread's metadata; tools see it as `context.metadata`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** While another run has the thread: wait for its end, be refused with `CONFLICT`, or (in the same process) be heard by that run. */
  readonly whenBusy?: WhenBusy;
  /** Names what is said: the same id twice in a thread is answered once, and both get that answer. */
  readonly messageId?: string;
}

export interface ResumeOptions extends Omit<RunOptions, "messageId"> {
  readonly threadId: string;
  readonly interruptId: string;
  readonly response: unknown;
}

/** An agent without any knowledge of backends and providers; `Agent` adds that. */
export class CoreAgent<Output = unknown> {
  readonly #options: CoreAgentOptions;
  readonly #tools: readonly Tool[];
  readonly #fixed: FixedParts;
  readonly #active = new Set<Promise<void>>();
  #telemetry: Promise<Telemetry> | undefined;
  #draining = false;
  #hasWarned = false;

  constructor(options: CoreAgentOptions) {
    this.#options = options;
    const { tools = [] } = options;
    assertTools(tools);
    this.#tools = tools;
    this.#fixed = fixedParts(options);
    new LimitGuard(options, this.#fixed.now);
  }

  /**
   * Says something in a thread and runs until the model has answered. Without a
   * prompt: finishes what the thread's last run left unfinished. What is unfinished
   * when there is a prompt is settled first.
   */
  run(prompt?: string | UserMessage["content"] | UserMessage, options: RunOptions = {}): Run<Output> {
    assertRunOptions(options);
    const message = prompt === undefined ? undefined : withId(asUserMessage(prompt), options.messageId);
    return this.#start(options, {
      needsThread: message === undefined,
      ...(message !== undefined && { message }),
      begin: (context, adopt) => begin(context, adopt, message),
    });
  }

  /** Answers a question that a run ended with, in any process, and goes on. */
  resume(options: ResumeOptions): Run<Output> {
    assertResumeOptions(options);
    const { interruptId, response } = options;
    const answer: Opening["begin"] = async ({ session, parts }, adopt) => {
      const answered = await answerInterrupt(session.state, interruptId, response, parts.now());
      session.change(() => adopt(answered));
      session.saveBeside();
      return undefined;
    };
    return this.#start(options, { needsThread: true, begin: answer });
  }

  /** Lets every run finish its iteration, save and stop; new runs are refused. For SIGTERM. */
  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.allSettled(this.#active);
  }

  /**
   * Writes down what a run could not save before it failed, once the storage is
   * back. The next run of this process on that thread does so by itself.
   */
  async settle(error: RunError): Promise<void> {
    await settleError(error);
  }

  #start(options: RunOptions, opening: Opening): Run<Output> {
    if (this.#draining) throw new StateError("CLOSED", "this agent is draining and takes no new runs");
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#active.add(ended);
    // Its end is noted inside the run and not by a handler on it: a failure that nobody looks at must stay loud.
    return new Run<Output>(async (emit) => {
      try {
        return await this.#withThread(options, opening, emit);
      } finally {
        this.#active.delete(ended);
        end();
      }
    });
  }

  async #withThread(
    options: RunOptions,
    opening: Opening,
    emit: (event: RunEvent) => void,
  ): Promise<RunResult<Output>> {
    const { threadId, signal } = options;
    const { checkpointer: open, lease = true } = this.#options;
    if (threadId === undefined || open === undefined) return this.#execute(options, opening, emit, undefined);
    const checkpointer = await open();
    assertCheckpointer(checkpointer, "Agent({ checkpointer })");
    await settleThread(checkpointer, threadId);
    if (lease === false) {
      const stored = await loadState(checkpointer, threadId);
      return this.#execute(options, opening, emit, { checkpointer, threadId, stored });
    }
    const { ttlMs = LEASE_MS, waitMs = Math.max(WAIT_MS, 2 * ttlMs), owner } = lease === true ? {} : lease;
    const whenBusy = options.whenBusy ?? this.#options.whenBusy ?? "wait";
    if (whenBusy === "enqueue" && opening.message !== undefined) {
      const joined = await joinRun(checkpointer, threadId, opening.message, emit);
      if (joined !== undefined) return joined as RunResult<Output>;
    }
    const messageId = opening.message?.id;
    const terms = {
      whenBusy,
      waitMs,
      ttlMs,
      owner,
      signal,
      emit,
      messageId,
      warn: () => this.#warnOfNoLease(emit),
    };
    return asOnlyWriter(checkpointer, threadId, terms, (place) => {
      const result = this.#execute(options, opening, heardBy(place.turn, emit), place);
      if (place.turn !== undefined) place.turn.result = result;
      return result;
    });
  }

  #warnOfNoLease(emit: (event: RunEvent) => void): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const what = "this checkpointer has no leases: runs of one thread wait for one another in this process only";
    emit({ type: "warning", where: "lease", error: new StateError("UNSUPPORTED", what, { capability: "lease" }) });
  }

  async #execute(
    options: RunOptions,
    opening: Opening,
    show: (event: RunEvent) => void,
    place: Place | undefined,
  ): Promise<RunResult<Output>> {
    const stored = place?.stored;
    if (stored === undefined && opening.needsThread) throw nothingToResume(options.threadId);
    const { saveRetryMs } = this.#fixed;
    const session = new ThreadSession(stored ?? AgentState.create(), place && sessionStorage(place), {
      emit: show,
      saveRetryMs,
    });
    if (place?.lease !== undefined) session.endWith(place.lease.signal);
    const emit = (event: RunEvent): void => session.emit(event);
    const parts = await this.#parts(session);
    const signal = signalOf(session.lost, options.signal);
    const context: RunContext = {
      parts,
      session,
      limits: new LimitGuard(this.#options, parts.now),
      threadId: options.threadId,
      metadata: options.metadata ?? {},
      signal,
      modelSignal: signalOf(session.failed, signal),
      inbox: new Inbox(),
      isDraining: () => this.#draining,
      progress: { spoken: "" },
      inFlight: new Map(),
      history: new HistoryRepair(),
      emit,
    };
    if (place?.turn !== undefined) place.turn.inbox = context.inbox;
    const runId = randomUUID();
    emit({ type: "run-start", runId, threadId: options.threadId, resumed: stored !== undefined });
    return parts.telemetry.span("run", { "holdfast.run": runId }, () =>
      this.#toTheEnd(context, opening, options, place),
    );
  }

  async #toTheEnd(
    context: RunContext,
    opening: Opening,
    options: RunOptions,
    place: Place | undefined,
  ): Promise<RunResult<Output>> {
    const { session, parts, emit } = context;
    let ending: Ending;
    const forget = place?.riding === undefined ? undefined : releaseAtExit(() => session.release());
    try {
      await parts.hooks.beforeRun?.({ state: session.state, threadId: options.threadId });
      const changed = changedTools(session.state, this.#tools);
      if (changed !== undefined) emit({ type: "warning", where: "tools", error: new Error(changed) });
      const { metadata } = options;
      const ended = await opening.begin(context, (state) => {
        const listed = withToolList(state, this.#tools);
        return metadata === undefined ? listed : listed.withMetadata(metadata);
      });
      if (place?.isRepeated === true) await session.durable();
      ending = ended ?? (await drive(context));
      await session.finish();
      session.throwIfFailed();
    } catch (error) {
      throw await this.#failed(context, error, place);
    } finally {
      forget?.();
      context.inbox.close();
    }
    place?.turn?.end();
    await this.#afterwards(context, ending);
    emit({ type: "run-end", stopReason: ending.stopReason });
    return resultOf<Output>(context, ending);
  }

  async #failed({ session, progress }: RunContext, error: unknown, place: Place | undefined): Promise<Error> {
    const failure = StateError.is(error) ? error : asFailure(error);
    if (place?.riding?.wasHeld === false && session.lost.aborted) {
      await session.abandon();
      session.forgetEvents();
      return new Overtaken(failure);
    }
    // What was said so far is kept, however seldom the agent saves; if saving is what failed, that is the failure.
    await session.leave();
    const raised = new RunError(failure, session.state, progress.spoken);
    if (place !== undefined && session.isUnsaved && !session.lost.aborted) {
      leaveUnsettled(place.checkpointer, place.threadId, session, raised);
    }
    return raised;
  }

  /** Everything that may fail without costing anything: the answer is saved. */
  async #afterwards(context: RunContext, { stopReason }: Ending): Promise<void> {
    const { parts, session, emit, threadId, metadata, signal } = context;
    await runAfter(context, "afterRun", { state: session.state, stopReason });
    try {
      await parts.memory.remember({ state: session.state, threadId, metadata, signal });
      parts.telemetry.count("runs", 1, { "holdfast.stop_reason": stopReason });
    } catch (error) {
      emit({ type: "warning", where: "memory", error });
    }
  }

  async #parts(session: ThreadSession): Promise<AgentParts> {
    const reader = readResultTool(() => session.state, this.#fixed.maxResultChars);
    this.#telemetry ??= loadTelemetry();
    return {
      ...this.#fixed,
      model: await this.#options.model(),
      tools: new Map([...this.#tools, reader].map((tool) => [tool.name, tool])),
      telemetry: await this.#telemetry,
    };
  }
}

/** A signal of this run's own, with as many listeners as it has tools under way. */
function signalOf(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const signal = AbortSignal.any(signals.filter((given) => given !== undefined));
  setMaxListeners(0, signal);
  return signal;
}

function asUserMessage(prompt: string | UserMessage["content"] | UserMessage): UserMessage {
  assertPrompt(prompt);
  if (typeof prompt === "string" || Array.isArray(prompt)) return userMessage(prompt);
  return prompt as UserMessage;
}

function withId(message: UserMessage, id: string | undefined): UserMessage {
  if (id === undefined || message.id === id) return message;
  if (message.id === undefined) return { ...message, id };
  throw new TypeError(`run() was given two ids for one message: messageId, and the message's own id`);
}

function resultOf<Output>({ session, limits }: RunContext, { stopReason, output, text }: Ending): RunResult<Output> {
  return {
    text: text ?? lastText(session.state),
    state: session.state,
    stopReason,
    usage: limits.usage,
    iterations: limits.iterations,
    checkpointId: session.checkpointId,
    output: output as Output | undefined,
    interrupts: pendingInterrupts(session.state),
  };
}

const asFailure = (error: unknown): StateError => new StateError("UNKNOWN", reasonOf(error), { cause: error });
