import { randomUUID } from "node:crypto";
import { assertCheckpointer } from "../../checkpoint/assert-checkpointer.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { mayBeThereAlready } from "../../checkpoint/thread/thread.ts";

import { reasonOf, StateError } from "../../errors.ts";
import { given } from "../../internal/option-table.ts";
import { type AnySchema, readySchema } from "../../models/schema.ts";
import { AgentState } from "../../state/agent-state.ts";
import { pendingIn } from "../../state/pending.ts";
import { subjectsIn, subjectsOfMessage } from "../../state/people/subjects.ts";
import { STOPPED_KEY } from "../../state/tool-calls.ts";
import type { CoreAgentOptions } from "../agent-options.ts";
import type { RunEvent, RunResult, StopReason } from "../events.ts";
import type { FixedParts } from "../fixed-parts.ts";
import { runAfter } from "../hooks.ts";
import type { PriceTable } from "../model-call/prices.ts";
import { Prompt } from "../model-call/prompt.ts";
import { AGENT_OPTIONS } from "../option-tables.ts";
import type { RunOptions } from "../run-options.ts";
import { sessionStorage } from "../saving/session-storage.ts";
import { ThreadSession } from "../saving/thread-session.ts";
import { runSpan, usageAttributes } from "../telemetry/gen-ai.ts";
import { countRetries, loadTelemetry, savesIn, type Telemetry } from "../telemetry/telemetry.ts";
import { changedTools, withToolList } from "../tool-call/ledger.ts";
import type { Tool } from "../tool-call/tool.ts";
import { readResultTool } from "../tool-call/tool-result.ts";
import { LimitGuard, limitsIn, signalOf, TimeBudget } from "./limits.ts";
import { drive, type Ending, isAnswered } from "./loop.ts";
import { Mail, takeMail } from "./mail.ts";
import { asOnlyWriter, heardBy, joinRun, LEASE_MS, Overtaken, type Place, WAIT_MS } from "./only-writer.ts";
import { nothingToResume, type Opening, saidAs } from "./opening.ts";
import type { AgentParts, RunContext } from "./run-context.ts";
import { lastText, RunError } from "./run-error.ts";
import { subjectIn, warnOfOtherNames } from "./run-subject.ts";
import { inTermsOfARun } from "./told-to-caller.ts";
import { hasFollower } from "./turns.ts";
import { leaveUnsettled, settleThread } from "./unsettled.ts";

/** Where a run is kept, and a caller's prices for a sub-agent that has none. */
export interface RunPlace {
  readonly open: CoreAgentOptions["checkpointer"];
  readonly prices?: PriceTable | undefined;
  /** Called when the run has ended and more was sent to its thread meanwhile. */
  readonly onMore?: (person: readonly string[] | undefined) => void;
  /** Set for a run that handles what was sent to the thread of another run. */
  readonly person?: readonly string[] | undefined;
}

/** A run that has ended, and what is left to do once its thread is free. */
interface Done<Output> {
  readonly result: RunResult<Output>;
  readonly remember?: () => Promise<void>;
}

/** Runs of one agent, from its thread's turn to the result. */
export class Runner<Output, Runtime> {
  readonly #options: CoreAgentOptions<Runtime>;
  readonly #tools: readonly Tool[];
  readonly #fixed: FixedParts;
  readonly #isDraining: () => boolean;
  readonly #unsaved = new UnsavedThreads();
  #telemetry: Promise<Telemetry> | undefined;
  #hasWarned = false;

  constructor(
    options: CoreAgentOptions<Runtime>,
    tools: readonly Tool[],
    fixed: FixedParts,
    isDraining: () => boolean,
  ) {
    this.#options = options;
    this.#tools = tools;
    this.#fixed = fixed;
    this.#isDraining = isDraining;
  }

  async run(
    options: RunOptions,
    opening: Opening,
    emit: (event: RunEvent) => void,
    at: RunPlace,
  ): Promise<RunResult<Output>> {
    try {
      const { result, remember } = await this.#withThread(options, opening, emit, at);
      // The answer was given and the thread is free: learning from it keeps no one waiting but the caller's own promise.
      await remember?.();
      return result;
    } catch (error) {
      throw inTermsOfARun(error);
    }
  }

  async #withThread(
    options: RunOptions,
    opening: Opening,
    emit: (event: RunEvent) => void,
    at: RunPlace,
  ): Promise<Done<Output>> {
    const { threadId, signal } = options;
    const { open } = at;
    const lease = given(this.#options, AGENT_OPTIONS, "lease");
    if (threadId !== undefined && open === undefined) this.#unsaved.warn(threadId, emit);
    if (threadId === undefined || open === undefined) return this.#execute(options, opening, emit, undefined, at);
    const checkpointer = await open();
    assertCheckpointer(checkpointer, "Agent({ checkpointer })");
    if (lease === false) {
      await settleThread(checkpointer, threadId);
      const stored = await loadState(checkpointer, threadId);
      return this.#execute(options, opening, emit, { checkpointer, threadId, stored }, at);
    }
    const { ttlMs = LEASE_MS, waitMs = Math.max(WAIT_MS, 2 * ttlMs), owner } = lease === true ? {} : lease;
    const whenBusy = options.whenBusy ?? given(this.#options, AGENT_OPTIONS, "whenBusy");
    if (whenBusy === "enqueue" && opening.message !== undefined) {
      const joined = await joinRun(checkpointer, threadId, opening.message, emit);
      if (joined.isSent && joined.result !== undefined) return { result: joined.result as RunResult<Output> };
      if (joined.isSent)
        return this.#withThread({ ...options, whenBusy: "wait" }, saidAs(opening, joined.id), emit, at);
    }
    const messageId = opening.message?.id;
    const warn = (): void => this.#warnOfNoLease(emit);
    const terms = { whenBusy, waitMs, ttlMs, owner, signal, emit, messageId, warn };
    return asOnlyWriter(checkpointer, threadId, terms, (place) => {
      const done = this.#execute(options, opening, heardBy(place.turn, emit), place, at);
      if (place.turn !== undefined) {
        const { turn } = place;
        turn.result = done.then(({ result }) => result);
        // Its failure is that of the run, which has a caller.
        turn.result.catch(() => undefined);
      }
      return done;
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
    at: RunPlace,
  ): Promise<Done<Output>> {
    const stored = place?.stored;
    if (stored === undefined && opening.needsThread) throw nothingToResume(options.threadId);
    const { saveRetryMs } = this.#fixed;
    const session = new ThreadSession(stored ?? AgentState.create(), place && sessionStorage(place), {
      emit: show,
      saveRetryMs,
    });
    if (place?.lease !== undefined) session.endWith(place.lease.signal);
    const parts = await this.#parts(session, at.prices, options.outputSchema);
    const limits = { ...this.#options, ...limitsIn(options) };
    session.measure = savesIn(parts.telemetry);
    const emit = (event: RunEvent): void => {
      countRetries(parts.telemetry, event);
      session.emit(event);
    };
    const budget = new TimeBudget(limits.timeBudgetMs);
    const stop = new AbortController();
    const signal = signalOf(session.lost, options.signal, budget.spent, stop.signal);
    const mail = new Mail(place?.checkpointer, place?.threadId);
    const context: RunContext = {
      parts,
      session,
      limits: new LimitGuard(limits, parts.runClock),
      threadId: options.threadId,
      checkpointer: place?.checkpointer,
      metadata: session.state.withMetadata(options.metadata ?? {}).metadata,
      runtime: options.runtime,
      task: options.session,
      isKept: place !== undefined,
      signal,
      modelSignal: signalOf(session.failed, signal),
      mail,
      turn: place?.turn,
      stop,
      person: at.person ?? personOf(opening, session.state),
      isDraining: this.#isDraining,
      progress: { spoken: "" },
      handedDown: new Map(),
      inFlight: new Map(),
      prompt: new Prompt(),
      emit,
    };
    if (place?.turn !== undefined) place.turn.look = () => mail.look();
    mail.watch(
      () => stop.abort(),
      () => session.idleMs,
    );
    const runId = randomUUID();
    emit({ type: "run-start", runId, threadId: options.threadId, continued: stored !== undefined });
    const work = (): Promise<RunResult<Output>> => this.#toTheEnd(context, opening, options, place);
    const span = runSpan(parts.agentName, options.threadId, runId);
    const result = await parts.telemetry
      .span(span, async (notes) => {
        const result = await work();
        notes.set({ ...usageAttributes(result.usage), "holdfast.stop_reason": result.stopReason });
        if (place !== undefined && hasMore(context, result.stopReason, place)) at.onMore?.(context.person);
        return result;
      })
      .finally(() => {
        budget.end();
        mail.close();
      });
    return { result, remember: () => remember(context) };
  }

  async #toTheEnd(
    context: RunContext,
    opening: Opening,
    options: RunOptions,
    place: Place | undefined,
  ): Promise<RunResult<Output>> {
    const { session, parts, emit } = context;
    let ending: Ending;
    try {
      await parts.hooks.beforeRun?.({ state: session.state, threadId: options.threadId });
      const changed = changedTools(session.state, this.#tools);
      if (changed !== undefined) emit({ type: "warning", where: "tools", error: new Error(changed) });
      const { metadata } = options;
      const ended = await opening.begin(context, (state) => {
        const listed = withToolList(withoutStopMark(state), this.#tools);
        return metadata === undefined ? listed : listed.withMetadata(metadata);
      });
      warnOfOtherNames(context);
      if (place?.isContended === true) await session.durable();
      const reached = ended ?? (await drive(context));
      if (context.stop.signal.aborted) await takeMail(context);
      session.change((state) => withStopMark(state, reached.stopReason));
      await session.finish();
      session.throwIfFailed();
      ending = reached;
    } catch (error) {
      throw await this.#failed(context, error, place);
    }
    place?.turn?.end();
    const { stopReason, detail } = ending;
    await runAfter(context, "afterRun", { state: session.state, stopReason });
    parts.telemetry.count("holdfast.runs", 1, { "holdfast.stop_reason": stopReason });
    await finishTask(context, stopReason);
    emit({ type: "run-end", stopReason, ...(detail !== undefined && { stopDetail: detail }) });
    return resultOf<Output>(context, ending);
  }

  async #failed({ session, progress, limits }: RunContext, error: unknown, place: Place | undefined): Promise<Error> {
    const failure = StateError.is(error) ? error : asFailure(error);
    if (place?.riding?.wasHeld === false && session.lost.aborted && !mayBeThereAlready(session.lost.reason)) {
      await session.abandon();
      session.forgetEvents();
      return new Overtaken(failure);
    }
    // The messages so far are saved, however seldom the agent saves. If saving is what failed, that is the error.
    await session.leave();
    const raised = new RunError(failure, session.state, progress.spoken, limits);
    if (place !== undefined && session.isUnsaved && !session.lost.aborted) {
      leaveUnsettled(place.checkpointer, place.threadId, session, raised);
    }
    return raised;
  }

  async #parts(
    session: ThreadSession,
    prices: PriceTable | undefined,
    outputSchema: AnySchema | undefined,
  ): Promise<AgentParts> {
    const reader = readResultTool(() => session.state, this.#fixed.maxResultChars);
    this.#telemetry ??= loadTelemetry(this.#options.recordContent === true);
    return {
      ...this.#fixed,
      output: outputSchema === undefined ? this.#fixed.output : readySchema(outputSchema, "outputSchema"),
      prices: this.#fixed.prices ?? prices,
      model: await this.#options.model(),
      tools: new Map([...this.#tools, reader].map((tool) => [tool.name, tool])),
      telemetry: await this.#telemetry,
    };
  }
}

/** Lets the memory learn from the answer, which is saved: a failure is a warning. */
async function remember({ parts, session, emit, threadId, metadata, signal, prompt }: RunContext): Promise<void> {
  const { state, checkpointId } = session;
  const { recalled } = prompt;
  try {
    const subject = subjectIn(state);
    await parts.memory.remember({ state, subject, threadId, metadata, signal, checkpointId, recalled });
  } catch (error) {
    emit({ type: "warning", where: "memory", error });
  }
}

const asFailure = (error: unknown): StateError => new StateError("UNKNOWN", reasonOf(error), { cause: error });

function resultOf<Output>(
  { session, limits, parts }: RunContext,
  { stopReason, output, text: said, detail }: Ending,
): RunResult<Output> {
  const text = said ?? lastText(session.state);
  const facts = {
    text,
    message: text,
    state: session.state,
    stopDetail: detail,
    usage: limits.usage,
    cost: parts.prices === undefined ? undefined : limits.cost,
    iterations: limits.iterations,
    checkpointId: session.checkpointId,
    pending: pendingIn(session.state),
  };
  // Complete is an answer that fits the schema, where there is one.
  return stopReason === "complete"
    ? { ...facts, stopReason, output: output as Output }
    : { ...facts, stopReason, output: output as Output | undefined };
}

/** Tells the session that its task is done, where the run ended with an answer. The answer is saved: a failure is a warning. */
async function finishTask({ task, session, threadId, emit }: RunContext, stopReason: StopReason): Promise<void> {
  if (task === undefined || !(stopReason === "complete" || stopReason === "terminal-tool")) return;
  try {
    await task.finished({ threadId, checkpointId: session.checkpointId, stopReason });
  } catch (error) {
    emit({ type: "warning", where: "session", error });
  }
}

/** Whose words a run takes in: those of its own prompt's people, or of the people whose turn it resumes. */
function personOf({ message }: Opening, state: AgentState): readonly string[] | undefined {
  if (message !== undefined) return subjectsOfMessage(message) ?? subjectsIn(state.metadata["subject"]);
  return isAnswered(state) ? undefined : subjectsIn(subjectIn(state));
}

/** Whether the thread got more for this process to go on with: another run of it would begin for that at once. */
function hasMore({ mail, session }: RunContext, stopReason: StopReason, { checkpointer, threadId }: Place): boolean {
  if (hasFollower(checkpointer, threadId)) return false;
  if (stopReason === "pending") return mail.hasUnread(session.stored);
  const isOver = stopReason === "complete" || stopReason === "terminal-tool" || stopReason === "guarded";
  return isOver && mail.hasMore(session.stored);
}

/** Stopped by a limit of the run or by its caller. A run that was drained, or lost its model half way, should continue. */
const ON_PURPOSE: ReadonlySet<StopReason> = new Set<StopReason>([
  "cancelled",
  "max-iterations",
  "token-budget",
  "time-budget",
  "tool-loop",
  "stopped",
]);

/** Kept in the thread, so that a stopped turn is not mistaken for a lost one. */
const withStopMark = (state: AgentState, stopReason: StopReason): AgentState =>
  ON_PURPOSE.has(stopReason) ? state.withProviderState({ [STOPPED_KEY]: stopReason }) : state;

/** Running the thread again means that it should continue. */
const withoutStopMark = (state: AgentState): AgentState =>
  state.providerState[STOPPED_KEY] === undefined ? state : state.withProviderState({ [STOPPED_KEY]: undefined });

/** Says that a thread was named and is not saved: in every run, and loudly once for each agent, since few look at events. */
class UnsavedThreads {
  #hasWarned = false;

  warn(threadId: string, emit: (event: RunEvent) => void): void {
    const text = `the agent has no checkpointer, so thread ${JSON.stringify(threadId)} is not saved; pass one to new Agent(), or leave the threadId out`;
    emit({ type: "warning", where: "thread", error: new Error(text) });
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    process.emitWarning(text, { type: "HoldfastWarning", code: "HOLDFAST_NOT_SAVED" });
  }
}
