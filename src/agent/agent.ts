import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { StateError } from "../errors.ts";
import { given } from "../internal/option-table.ts";
import type { AnySchema, SchemaOutput } from "../models/schema.ts";
import type { UserMessage } from "../state/message.ts";
import type { SignalPart } from "../state/people/personal-fields.ts";
import { asUserMessage, withId } from "../state/prompt.ts";
import type { CoreAgentOptions } from "./agent-options.ts";
import { AgentThread, type ThreadOwner } from "./agent-thread.ts";
import {
  assertAnswerOptions,
  assertCompleteOptions,
  assertRunOptions,
  assertThreadNamed,
} from "./assert-run-options.ts";
import type { RunResult } from "./events.ts";
import { type FixedParts, fixedParts } from "./fixed-parts.ts";
import { AGENT_OPTIONS } from "./option-tables.ts";
import { assertDrainOptions, type DrainOptions, drainRuns, signalOf } from "./run/limits.ts";
import type { Opening } from "./run/opening.ts";
import type { RecoverArguments, RecoverOptions, RecoverReport } from "./run/recovering.ts";
import type { RunError } from "./run/run-error.ts";
import { aboutSubject } from "./run/run-subject.ts";
import type { Runner, RunPlace } from "./run/runner.ts";
import { Run } from "./run.ts";
import type { AnswerOptions, Needed, RunArguments, RunOptions, Shaped } from "./run-options.ts";
import { assertAnswerable, assertTools } from "./tool-call/assert-tools.ts";
import type { CompleteOptions } from "./tool-call/completing.ts";
import {
  answerIn,
  outcomeIn,
  runIn,
  type SubAgent,
  type SubAgentOptions,
  type SubAgentPlace,
  subAgentTool,
} from "./tool-call/sub-agent.ts";
import type { NamedTool, ResultIn, Tool } from "./tool-call/tool.ts";

type Said = string | UserMessage["content"] | UserMessage;

export type { CoreAgentOptions } from "./agent-options.ts";

/** All that only a run needs. Loaded with the first: a program that makes agents may never run them. */
const running = new OpenOnce(() => import("./run/running.ts"));
type Running = Awaited<ReturnType<typeof running.get>>;

const REFUSALS = {
  draining: "this agent is draining and takes no new runs",
  closed: "this agent was closed; make a new one",
} as const;

/** An agent without any knowledge of backends and providers; `Agent` adds that. */
export class CoreAgent<Output = unknown, Runtime = unknown, Tools extends NamedTool = NamedTool> {
  readonly #options: CoreAgentOptions<Runtime>;
  readonly #tools: readonly Tool[];
  readonly #fixed: FixedParts;
  /** The runs in progress, each with its AbortController. */
  readonly #active = new Map<Promise<void>, AbortController>();
  #runner: Runner<Output, Runtime> | undefined;
  #refuses: "draining" | "closed" | undefined;

  constructor(options: CoreAgentOptions<Runtime, Tools>) {
    this.#options = options;
    const { tools = [] } = options;
    assertTools(tools);
    // The types of `run` ensure that the tools' context is given.
    this.#tools = tools as readonly Tool[];
    this.#fixed = fixedParts(options);
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
  run<Schema extends AnySchema>(
    prompt: Said | undefined,
    options: Needed<Shaped<RunOptions<Runtime, Schema>>, Runtime>,
  ): Run<SchemaOutput<Schema>, Tools>;
  run(prompt?: Said, ...given: RunArguments<Runtime>): Run<Output, Tools>;
  run(prompt?: Said, options: RunOptions<Runtime> = {}): Run<Output, Tools> {
    return this.#say(prompt, options, this.#ownPlace);
  }

  get #ownPlace(): RunPlace {
    return { open: this.#options.checkpointer };
  }

  #say(prompt: Said | undefined, options: RunOptions<Runtime>, place: RunPlace): Run<Output, Tools> {
    assertRunOptions(options);
    if (place.open !== undefined) assertThreadNamed(options);
    const said = prompt === undefined ? undefined : withId(asUserMessage(prompt), options.messageId);
    const message = said && aboutSubject(said, options);
    const { declinePending: declines = false } = options;
    const { backTo } = options;
    return this.#start(options, ({ saying }) => saying(message, { backTo, declines }), place);
  }

  /** Answers something that a run ended with, in any process, and continues the thread. */
  answer<Schema extends AnySchema>(
    options: Needed<Shaped<AnswerOptions<Runtime, Schema>>, Runtime>,
  ): Run<SchemaOutput<Schema>, Tools>;
  answer(options: Needed<AnswerOptions<Runtime>, Runtime>): Run<Output, Tools>;
  answer(options: AnswerOptions<Runtime>): Run<Output, Tools> {
    return this.#answer(options, this.#ownPlace);
  }

  #answer(options: AnswerOptions<Runtime>, place: RunPlace): Run<Output, Tools> {
    assertAnswerOptions(options);
    const { id, response, decline = false } = options;
    const why = typeof decline === "string" ? { reason: decline } : {};
    const part: SignalPart = decline === false ? { id, value: response } : { id, declined: true, ...why };
    return this.#start(options, ({ answering }) => answering(part), place);
  }

  /** Delivers the outcome of a call whose tool answered "later", from any process, and continues the thread. */
  complete<Schema extends AnySchema>(
    options: Needed<Shaped<CompleteOptions<Runtime, ResultIn<Tools>, Schema>>, Runtime>,
  ): Run<SchemaOutput<Schema>, Tools>;
  complete(options: Needed<CompleteOptions<Runtime, ResultIn<Tools>>, Runtime>): Run<Output, Tools>;
  complete(options: CompleteOptions<Runtime, ResultIn<Tools>>): Run<Output, Tools> {
    return this.#complete(options, this.#ownPlace);
  }

  #complete(options: CompleteOptions<Runtime, unknown>, place: RunPlace): Run<Output, Tools> {
    assertCompleteOptions(options);
    const { toolCallId: _, result: __, error: ___, ...rest } = options;
    return this.#start(rest, ({ completing }) => completing(options), place);
  }

  /**
   * This agent as a tool of another. Each call is a thread of its own, a child of the caller's and kept where that is;
   * what this agent asks people is asked in the caller's thread.
   */
  asTool<const Schema extends AnySchema>(options: SubAgentOptions<Schema>): Tool<Runtime> {
    const lease = given(this.#options, AGENT_OPTIONS, "lease");
    const at = ({ checkpointer, prices }: SubAgentPlace): RunPlace => ({
      open: checkpointer && (async () => checkpointer),
      prices,
    });
    const agent: SubAgent = {
      run: (prompt, place) => this.#say(prompt, runIn(place) as RunOptions<Runtime>, at(place)),
      answer: (place, id, answer) => this.#answer(answerIn(place, id, answer) as AnswerOptions<Runtime>, at(place)),
      complete: (place, outcome) =>
        this.#complete(outcomeIn(place, outcome) as CompleteOptions<Runtime, unknown>, at(place)),
      giveUp: async ({ checkpointer, threadId }) => {
        if (checkpointer === undefined || threadId === undefined) return;
        const { now, maxResultChars } = this.#fixed;
        await (await running.get()).giveUpThread(checkpointer, threadId, { now: now(), maxResultChars }, lease);
      },
    };
    return subAgentTool(agent, options as SubAgentOptions);
  }

  /** One conversation: its state and history, to fork, change, run or delete it. */
  thread(threadId: string): AgentThread<Output, Runtime> {
    const lease = given(this.#options, AGENT_OPTIONS, "lease");
    return new AgentThread<Output, Runtime>(
      threadId,
      this as ThreadOwner<Output, Runtime>,
      async (checkpointer, change) => (await running.get()).updateThread(checkpointer, threadId, change, lease),
    );
  }

  /**
   * Resumes every thread whose last turn was left unfinished by a process that is gone. Call it at the start of a
   * program.
   */
  async recover(...given: RecoverArguments<Runtime>): Promise<RecoverReport> {
    const options: RecoverOptions<Runtime> = given[0] ?? {};
    const { assertRecoverOptions, nothingToRecover, recoverThreads } = await running.get();
    assertRecoverOptions(options);
    const checkpointer = await this.checkpointer;
    if (checkpointer === undefined) throw nothingToRecover();
    const run = async (threadId: string): Promise<RunResult | undefined> => {
      let isDone = false;
      const result = await this.#start({ threadId, runtime: options.runtime, whenBusy: "reject" }, ({ goingOn }) =>
        goingOn(() => {
          isDone = true;
        }),
      );
      return isDone ? undefined : result;
    };
    return recoverThreads(checkpointer, options, {
      now: this.#fixed.now(),
      isDraining: () => this.#refuses !== undefined,
      run,
    });
  }

  /** Lets every run finish its iteration, save and stop; new runs are refused. For SIGTERM. */
  async drain(options: DrainOptions = {}): Promise<void> {
    assertDrainOptions("drain()", options);
    this.#refuses ??= "draining";
    await drainRuns(this.#active, options);
  }

  /** Drains, and takes no runs any more. A checkpointer that was handed in stays open. */
  async close(options: DrainOptions = {}): Promise<void> {
    assertDrainOptions("close()", options);
    this.#refuses = "closed";
    await this.drain(options);
  }

  /**
   * Writes down what a run could not save before it failed, once the storage is
   * back. The next run of this process on that thread does so by itself.
   */
  async settle(error: RunError): Promise<void> {
    await (await running.get()).settleError(error);
  }

  /** The run counts as active, and its signal as heard, from here on: before the code that runs it is loaded. */
  #start(options: RunOptions, openingIn: (part: Running) => Opening, place = this.#ownPlace): Run<Output, Tools> {
    if (this.#refuses !== undefined) throw new StateError("CLOSED", REFUSALS[this.#refuses]);
    assertAnswerable(this.#tools, options.threadId, place.open !== undefined);
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const stop = new AbortController();
    this.#active.set(ended, stop);
    const given = { ...options, signal: signalOf(stop.signal, options.signal) };
    // Its end is recorded inside the run, not by a handler on it: an unhandled failure must stay visible.
    return new Run<Output, Tools>(async (emit) => {
      try {
        const part = await running.get();
        const onMore = (person: readonly string[] | undefined): void => this.#goOn(options, { ...place, person });
        return await this.#runnerIn(part).run(given, openingIn(part), emit, { ...place, onMore });
      } finally {
        this.#active.delete(ended);
        end();
      }
    });
  }

  /** Another run for what was sent to a thread while its run was ending. Where it fails, the next run or `recover` does it. */
  #goOn({ threadId, runtime, metadata }: RunOptions, place: RunPlace): void {
    if (this.#refuses !== undefined) return;
    const options = {
      threadId,
      runtime,
      ...(metadata !== undefined && { metadata }),
      whenBusy: "reject",
    } as RunOptions;
    setImmediate(() => {
      if (this.#refuses !== undefined) return;
      this.#start(options, ({ goingOn }) => goingOn(() => undefined), place).catch(() => undefined);
    });
  }

  #runnerIn({ Runner }: Running): Runner<Output, Runtime> {
    this.#runner ??= new Runner(this.#options, this.#tools, this.#fixed, () => this.#refuses !== undefined);
    return this.#runner;
  }
}
