import type { BaseCheckpointer, CheckpointSummary, ForkOptions } from "../checkpoint/base-checkpointer.ts";
import type { SendOptions, Sent } from "../checkpoint/signals/sending.ts";
import type { Signal } from "../checkpoint/signals/signal.ts";
import { loadState } from "../checkpoint/thread/loaded-state.ts";
import { StateError } from "../errors.ts";
import { described } from "../internal/known-options.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { UserMessage } from "../state/message.ts";
import { parentOf } from "../state/tool-calls.ts";
import type { FollowOptions } from "./page/following.ts";
import type { UIMessage } from "./page/ui-messages.ts";
import {
  type NodeResponse,
  nothingUnderWay,
  pipeEvents,
  sseResponse,
  streamOf,
  type UIResponseOptions,
} from "./page/ui-response.ts";
import type { UIMessageChunk } from "./page/ui-stream.ts";
import { currentTurn } from "./run/turns.ts";
import type { Run } from "./run.ts";
import type { AnswerOptions, Needed, RunOptions } from "./run-options.ts";

/** Children first: a retry after an interruption still finds them. */
async function deleteFamily(checkpointer: BaseCheckpointer, threadId: string): Promise<boolean> {
  const state = await readable(checkpointer, threadId);
  for (const { childThreadId } of state?.toolExecutions ?? []) {
    if (childThreadId === undefined) continue;
    const child = await readable(checkpointer, childThreadId);
    if (parentOf(child?.metadata)?.threadId === threadId) await deleteFamily(checkpointer, childThreadId);
  }
  return checkpointer.delete(threadId);
}

/** A damaged thread, or one of a newer version, can be deleted; but its sub-agents' threads are then unknown. */
async function readable(checkpointer: BaseCheckpointer, threadId: string): Promise<AgentState | undefined> {
  try {
    return await loadState(checkpointer, threadId);
  } catch (error) {
    if (StateError.is(error, "CORRUPT") || StateError.is(error, "INCOMPATIBLE")) return undefined;
    throw error;
  }
}

/** What a thread asks of its agent. */
export interface ThreadOwner<Output, Runtime> {
  readonly checkpointer: Promise<BaseCheckpointer> | undefined;
  run(prompt: Said | undefined, options: Needed<RunOptions<Runtime>, Runtime>): Run<Output>;
  answer(options: Needed<AnswerOptions<Runtime>, Runtime>): Run<Output>;
  thread(threadId: string): AgentThread<Output, Runtime>;
}

type Said = string | UserMessage["content"] | UserMessage;

/** Saves the result of `change`, as the thread's only writer. */
export type UpdateThread = (checkpointer: BaseCheckpointer, change: StateChange) => Promise<string>;
export type StateChange = (state: AgentState) => AgentState | Promise<AgentState>;

export type ThreadRunOptions<Runtime> = Needed<Omit<RunOptions<Runtime>, "threadId">, Runtime>;

/** One conversation of an agent. Nothing is read until it is asked for: a thread that does not exist yet has an id. */
export class AgentThread<Output = unknown, Runtime = unknown> {
  readonly id: string;
  readonly #owner: ThreadOwner<Output, Runtime>;
  readonly #update: UpdateThread;

  constructor(id: string, owner: ThreadOwner<Output, Runtime>, update: UpdateThread) {
    if (typeof id !== "string" || id === "") {
      throw new TypeError(`agent.thread() takes the id of a thread, a text, not ${described(id)}`);
    }
    this.id = id;
    this.#owner = owner;
    this.#update = update;
  }

  /** The current state, or that of a checkpoint; `undefined` if there is none. */
  async state(checkpointId?: string): Promise<AgentState | undefined> {
    const ref = checkpointId === undefined ? undefined : { checkpointId };
    return loadState(await this.#checkpointer(), this.id, ref);
  }

  /** Every checkpoint, newest first. */
  async *history(): AsyncGenerator<CheckpointSummary, void, undefined> {
    yield* (await this.#checkpointer()).history(this.id);
  }

  /** A new thread that begins with the current state, or that of a checkpoint. Open calls are not run there. */
  async fork(newThreadId: string, options?: ForkOptions): Promise<AgentThread<Output, Runtime>> {
    await (await this.#checkpointer()).fork(this.id, newThreadId, options);
    return this.#owner.thread(newThreadId);
  }

  /** Saves what `change` makes of the newest state, as the thread's only writer: a run that is under way is waited for. Returns the checkpoint's id. */
  async update(change: StateChange): Promise<string> {
    if (typeof change !== "function") {
      throw new TypeError(
        `update() takes a function of the state, not ${described(change)}. Write (state) => state.with…()`,
      );
    }
    return this.#update(await this.#checkpointer(), change);
  }

  /**
   * Says something in this thread, or finishes what was begun. With `backTo`, the
   * thread first goes back to that checkpoint; what came after it stays in the history.
   */
  run(
    prompt?: Said,
    ...given: unknown extends Runtime ? [options?: ThreadRunOptions<Runtime>] : [options: ThreadRunOptions<Runtime>]
  ): Run<Output> {
    const options = { ...given[0], threadId: this.id } as Needed<RunOptions<Runtime>, Runtime>;
    return this.#owner.run(prompt, options);
  }

  /** Answers a question that waits here. */
  answer(options: Needed<Omit<AnswerOptions<Runtime>, "threadId">, Runtime>): Run<Output> {
    return this.#owner.answer({ ...options, threadId: this.id } as Needed<AnswerOptions<Runtime>, Runtime>);
  }

  /**
   * Sends a signal to this thread, from any process, whichever one runs it: words for the turn in flight or for the
   * next one, answers, the outcome of a call, or a request to end the turn. Once it returned, the signal is durable. If
   * no process runs the thread, it waits for the next run, or for `recover`.
   */
  async send(signal: Signal, options: SendOptions = {}): Promise<Sent> {
    const checkpointer = await this.#checkpointer();
    const sent = await checkpointer.send(this.id, signal, options);
    // A run of this process need not wait for its next look.
    void currentTurn(checkpointer, this.id)?.look?.();
    return sent;
  }

  /** The thread as a page of the AI SDK begins with it. */
  async uiMessages(options: Pick<FollowOptions, "onError"> = {}): Promise<readonly UIMessage[]> {
    const [state, { toUIMessages }] = [await this.state(), await import("./page/ui-messages.ts")];
    return state === undefined ? [] : toUIMessages(state, options);
  }

  /** The last turn, from any process: what exists, at once, and then what becomes durable. */
  toUIMessageStream(options: FollowOptions = {}): ReadableStream<UIMessageChunk> {
    const { id } = this;
    const opened = this.#checkpointer();
    return streamOf(
      (async function* () {
        const checkpointer = await opened;
        const { followTurn } = await import("./page/following.ts");
        yield* followTurn(checkpointer, id, options);
      })(),
    );
  }

  /** For a page that reconnects: the turn in progress, or 204 if there is none. */
  async toResponse(options: FollowOptions & UIResponseOptions = {}): Promise<Response> {
    const { isUnderWay } = await import("./page/following.ts");
    if (!isUnderWay(await this.state())) return nothingUnderWay();
    return sseResponse(this.toUIMessageStream(options), options);
  }

  /** The same for `node:http` and Express. */
  async pipe(response: NodeResponse, options: FollowOptions & UIResponseOptions = {}): Promise<void> {
    const { isUnderWay } = await import("./page/following.ts");
    if (isUnderWay(await this.state())) return pipeEvents(this.toUIMessageStream(options), response, options);
    response.writeHead(204, {});
    response.end();
  }

  /** Deletes the whole thread, and those of the sub-agents that worked for it. Returns whether it existed. */
  async delete(): Promise<boolean> {
    return deleteFamily(await this.#checkpointer(), this.id);
  }

  /** `metadata.title`, where it is a text. */
  async title(): Promise<string | undefined> {
    const title = (await this.state())?.metadata["title"];
    return typeof title === "string" ? title : undefined;
  }

  /** Kept as `metadata.title`, so that lists and queries find it. `undefined` takes it away. */
  async setTitle(title: string | undefined): Promise<void> {
    if (title !== undefined && typeof title !== "string") {
      throw new TypeError(`setTitle() takes a text, not ${described(title)}`);
    }
    await this.update((state) => state.withMetadata({ title }));
  }

  async #checkpointer(): Promise<BaseCheckpointer> {
    const checkpointer = await this.#owner.checkpointer;
    if (checkpointer !== undefined) return checkpointer;
    throw new StateError(
      "INVALID_ARGUMENT",
      "thread() needs an agent with a checkpointer: without one nothing is kept",
    );
  }
}
