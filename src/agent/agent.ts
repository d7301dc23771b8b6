/** Long because it is the whole surface of an agent: a short method for each thing it does. */

import { randomUUID } from "node:crypto";
import { assertCheckpointer } from "../checkpoint/assert-checkpointer.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { loadState } from "../checkpoint/loaded-state.ts";
import { StateError } from "../errors.ts";
import { reasonOf } from "../internal/reason-of.ts";
import type { AnySchema } from "../models/schema.ts";
import { AgentState } from "../state/agent-state.ts";
import type { UserMessage } from "../state/message.ts";
import type { CoreAgentOptions } from "./agent-options.ts";
import { AgentThread, type ThreadOwner } from "./agent-thread.ts";
import { asUserMessage, withId } from "./assert-prompt.ts";
import { assertResumeOptions, assertRunOptions } from "./assert-run-options.ts";
import { assertAnswerable, assertTools } from "./assert-tools.ts";
import { assertCompleteOptions, type CompleteOptions, completion } from "./completing.ts";
import { assertDrainOptions, type DrainOptions, drainRuns, signalOf, TimeBudget } from "./cut-off.ts";
import type { RunEvent, RunResult } from "./events.ts";
import { type FixedParts, fixedParts } from "./fixed-parts.ts";
import { runSpan, usageAttributes } from "./gen-ai.ts";
import { goBack } from "./going-back.ts";
import { guardedPrompt } from "./guards.ts";
import { runAfter } from "./hooks.ts";
import { Inbox } from "./inbox.ts";
import { answerInterrupt, declineWaiting, type PersonAnswer } from "./interrupts.ts";
import { heardBy, joinRun } from "./joining.ts";
import { giveUpPending } from "./later.ts";
import { LimitGuard } from "./limits.ts";
import { drive, type Ending } from "./loop.ts";
import { asOnlyWriter, LEASE_MS, Overtaken, type Place, WAIT_MS } from "./only-writer.ts";
import { begin, nothingToResume, type Opening } from "./opening.ts";
import { Prompt } from "./prompt.ts";
import {
  assertRecoverOptions,
  nothingToRecover,
  type RecoverArguments,
  type RecoverOptions,
  type RecoverReport,
  recoverThreads,
} from "./recovering.ts";
import { releaseAtExit } from "./release-at-exit.ts";
import { Run } from "./run.ts";
import type { AgentParts, RunContext } from "./run-context.ts";
import { RunError } from "./run-error.ts";
import type { Needed, ResumeOptions, RunArguments, RunOptions } from "./run-options.ts";
import { resultOf } from "./run-result.ts";
import { countRetries, savesIn } from "./save-metrics.ts";
import { sessionStorage } from "./session-storage.ts";
import { aboutSubject, finishTask } from "./session-task.ts";
import { withoutStopMark, withStopMark } from "./stop-mark.ts";
import { answerIn, runIn, type SubAgent, type SubAgentOptions, type SubAgentPlace, subAgentTool } from "./sub-agent.ts";
import { loadTelemetry, type Telemetry } from "./telemetry.ts";
import { ThreadSession } from "./thread-session.ts";
import { inTermsOfARun } from "./told-to-caller.ts";
import type { NamedTool, ResultIn, Tool } from "./tool.ts";
import { changedTools, withToolList } from "./tool-list.ts";
import { readResultTool } from "./tool-result.ts";
import { UnsavedThreads } from "./unsaved-threads.ts";
import { leaveUnsettled, settleError, settleThread } from "./unsettled.ts";
import { updateThread } from "./updating-thread.ts";

type Said = string | UserMessage["content"] | UserMessage;
type OpenCheckpointer = CoreAgentOptions["checkpointer"];

export type { CoreAgentOptions } from "./agent-options.ts";

/** An agent without any knowledge of backends and providers; `Agent` adds that. */
export class CoreAgent<Output = unknown, Context = unknown, Tools extends NamedTool = NamedTool> {
  readonly #options: CoreAgentOptions<Context>;
  readonly #tools: readonly Tool[];
  readonly #fixed: FixedParts;
  /** The runs in progress, each with its AbortController. */
  readonly #active = new Map<Promise<void>, AbortController>();
  readonly #unsaved = new UnsavedThreads();
  #telemetry: Promise<Telemetry> | undefined;
  #draining = false;
  #hasWarned = false;

  constructor(options: CoreAgentOptions<Context, Tools>) {
    this.#options = options;
    const { tools = [] } = options;
    assertTools(tools);
    // What they need of the context is for the types of `run` to see to.
    this.#tools = tools as readonly Tool[];
    this.#fixed = fixedParts(options);
    new LimitGuard(options, this.#fixed.now);
  }

  /** Where the threads are kept, opened if it was not yet; `undefined` for an agent that saves nothing. */
  get checkpointer(): Promise<BaseCheckpointer> | undefined {
    return this.#options.checkpointer?.();
  }

  /**
   * Says something in a thread and runs until the model has answered. Without a
   * prompt: finishes what the thread's last run left unfinished. What is unfinished
   * when there is a prompt is settled first.
   */
  run(prompt?: Said, ...given: RunArguments<Context>): Run<Output, Tools> {
    return this.#say(prompt, given[0] ?? {}, this.#options.checkpointer);
  }

  #say(prompt: Said | undefined, options: RunOptions<Context>, open: OpenCheckpointer): Run<Output, Tools> {
    assertRunOptions(options);
    const said = prompt === undefined ? undefined : withId(asUserMessage(prompt), options.messageId);
    const message = said && aboutSubject(said, options.subject);
    const { declineWaiting: declines = false } = options;
    const opening: Opening["begin"] = async (context, adopt) => {
      const { session, parts } = context;
      const heard = message && (await guardedPrompt(context, message));
      if (heard !== undefined && "stopReason" in heard) return heard;
      if (options.at !== undefined) await goBack(context, options.at, heard?.id);
      const reason = typeof declines === "string" ? declines : undefined;
      if (declines !== false) {
        const options = { now: parts.now(), maxResultChars: parts.maxResultChars };
        session.change((state) => giveUpPending(declineWaiting(state, reason, options.now), reason, options));
      }
      return begin(context, adopt, heard);
    };
    const needsThread = message === undefined;
    return this.#start(options, { needsThread, begin: opening, ...(message !== undefined && { message }) }, open);
  }

  /** Answers a question that a run ended with, in any process, and goes on. */
  resume(options: Needed<ResumeOptions<Context>, Context>): Run<Output, Tools> {
    return this.#answer(options, this.#options.checkpointer);
  }

  #answer(options: ResumeOptions<Context>, open: OpenCheckpointer): Run<Output, Tools> {
    assertResumeOptions(options);
    const { interruptId, response, decline = false } = options;
    const why = typeof decline === "string" ? { reason: decline } : {};
    const given: PersonAnswer = decline === false ? { value: response } : { declined: true, ...why };
    const answer: Opening["begin"] = async ({ session, parts }, adopt) => {
      const answered = await answerInterrupt(session.state, interruptId, given, {
        now: parts.now(),
        tools: parts.tools,
      });
      session.change(() => adopt(answered));
      session.saveBeside();
      return undefined;
    };
    return this.#start(options, { needsThread: true, begin: answer }, open);
  }

  /** Brings the outcome of a call whose tool answered "later", from any process, and goes on. */
  complete(options: Needed<CompleteOptions<Context, ResultIn<Tools>>, Context>): Run<Output, Tools> {
    assertCompleteOptions(options);
    const { toolCallId: _, result: __, error: ___, ...rest } = options;
    return this.#start(rest, { needsThread: true, begin: completion(options) });
  }

  /**
   * This agent as a tool of another. Each call is a thread of its own, a child of the caller's and kept where that is;
   * what this agent asks people is asked in the caller's thread.
   */
  asTool<const Schema extends AnySchema>(options: SubAgentOptions<Schema>): Tool<Context> {
    const storageOf = ({ checkpointer }: SubAgentPlace): OpenCheckpointer => checkpointer && (async () => checkpointer);
    const agent: SubAgent = {
      run: (prompt, place) => this.#say(prompt, runIn(place) as RunOptions<Context>, storageOf(place)),
      resume: (place, interruptId, answer) =>
        this.#answer(answerIn(place, interruptId, answer) as ResumeOptions<Context>, storageOf(place)),
    };
    return subAgentTool(agent, options as SubAgentOptions);
  }

  /** One conversation: its state and history, to fork, change, run or delete it. */
  thread(threadId: string): AgentThread<Output, Context> {
    const { lease = true } = this.#options;
    return new AgentThread<Output, Context>(threadId, this as ThreadOwner<Output, Context>, (checkpointer, change) =>
      updateThread(checkpointer, threadId, change, lease),
    );
  }

  /** Goes on with every thread whose last turn was left unfinished by a process that is gone. For the start of a program. */
  async recover(...given: RecoverArguments<Context>): Promise<RecoverReport> {
    const options: RecoverOptions<Context> = given[0] ?? {};
    assertRecoverOptions(options);
    const checkpointer = await this.checkpointer;
    if (checkpointer === undefined) throw nothingToRecover();
    const begins: Opening["begin"] = (context, adopt) => begin(context, adopt, undefined);
    const run = (threadId: string): Run<Output> =>
      this.#start({ threadId, context: options.context, whenBusy: "reject" }, { needsThread: true, begin: begins });
    return recoverThreads(checkpointer, options, { now: this.#fixed.now(), isDraining: () => this.#draining, run });
  }

  /** Lets every run finish its iteration, save and stop; new runs are refused. For SIGTERM. */
  async drain(options: DrainOptions = {}): Promise<void> {
    assertDrainOptions("drain()", options);
    this.#draining = true;
    await drainRuns(this.#active, options);
  }

  /**
   * Writes down what a run could not save before it failed, once the storage is
   * back. The next run of this process on that thread does so by itself.
   */
  async settle(error: RunError): Promise<void> {
    await settleError(error);
  }

  #start(
    options: RunOptions,
    opening: Opening,
    open: OpenCheckpointer = this.#options.checkpointer,
  ): Run<Output, Tools> {
    if (this.#draining) throw new StateError("CLOSED", "this agent is draining and takes no new runs");
    assertAnswerable(this.#tools, options.threadId, open !== undefined);
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const stop = new AbortController();
    this.#active.set(ended, stop);
    const signal = signalOf(stop.signal, options.signal);
    // Its end is recorded inside the run, not by a handler on it: an unhandled failure must stay visible.
    return new Run<Output, Tools>(async (emit) => {
      try {
        return await this.#withThread({ ...options, signal }, opening, emit, open);
      } catch (error) {
        throw inTermsOfARun(error);
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
    open: OpenCheckpointer,
  ): Promise<RunResult<Output>> {
    const { threadId, signal } = options;
    const { lease = true } = this.#options;
    if (threadId !== undefined && open === undefined) this.#unsaved.warn(threadId, emit);
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
    const warn = (): void => this.#warnOfNoLease(emit);
    const terms = { whenBusy, waitMs, ttlMs, owner, signal, emit, messageId, warn };
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
    const parts = await this.#parts(session);
    session.measure = savesIn(parts.telemetry);
    const emit = (event: RunEvent): void => {
      countRetries(parts.telemetry, event);
      session.emit(event);
    };
    const budget = new TimeBudget(this.#options.timeBudgetMs);
    const signal = signalOf(session.lost, options.signal, budget.spent);
    const context: RunContext = {
      parts,
      session,
      limits: new LimitGuard(this.#options, parts.now),
      threadId: options.threadId,
      checkpointer: place?.checkpointer,
      metadata: session.state.withMetadata(options.metadata ?? {}).metadata,
      runtime: options.context,
      task: options.session,
      isKept: place !== undefined,
      signal,
      modelSignal: signalOf(session.failed, signal),
      inbox: new Inbox(),
      isDraining: () => this.#draining,
      progress: { spoken: "" },
      inFlight: new Map(),
      prompt: new Prompt(),
      emit,
    };
    if (place?.turn !== undefined) place.turn.inbox = context.inbox;
    const runId = randomUUID();
    emit({ type: "run-start", runId, threadId: options.threadId, resumed: stored !== undefined });
    const work = (): Promise<RunResult<Output>> => this.#toTheEnd(context, opening, options, place);
    const span = runSpan(parts.agentName, options.threadId, runId);
    return parts.telemetry
      .span(span, async (notes) => {
        const result = await work();
        notes.set({ ...usageAttributes(result.usage), "holdfast.stop_reason": result.stopReason });
        return result;
      })
      .finally(() => budget.end());
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
        const listed = withToolList(withoutStopMark(state), this.#tools);
        return metadata === undefined ? listed : listed.withMetadata(metadata);
      });
      if (place?.isRepeated === true) await session.durable();
      const reached = ended ?? (await drive(context));
      session.change((state) => withStopMark(state, reached.stopReason));
      await session.finish();
      session.throwIfFailed();
      ending = reached;
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
    // The messages so far are saved, however seldom the agent saves. If saving is what failed, that is the error.
    await session.leave();
    const raised = new RunError(failure, session.state, progress.spoken);
    if (place !== undefined && session.isUnsaved && !session.lost.aborted) {
      leaveUnsettled(place.checkpointer, place.threadId, session, raised);
    }
    return raised;
  }

  /** Everything whose failure costs nothing: the answer is saved. */
  async #afterwards(context: RunContext, { stopReason }: Ending): Promise<void> {
    const { parts, session, emit, threadId, metadata, signal, prompt } = context;
    await runAfter(context, "afterRun", { state: session.state, stopReason });
    try {
      const { state, checkpointId } = session;
      await parts.memory.remember({ state, threadId, metadata, signal, checkpointId, recalled: prompt.recalled });
      parts.telemetry.count("holdfast.runs", 1, { "holdfast.stop_reason": stopReason });
    } catch (error) {
      emit({ type: "warning", where: "memory", error });
    }
    await finishTask(context, stopReason);
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

const asFailure = (error: unknown): StateError => new StateError("UNKNOWN", reasonOf(error), { cause: error });
