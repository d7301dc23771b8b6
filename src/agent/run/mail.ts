import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { contextOf } from "../../checkpoint/context.ts";
import { waitingRecords, waitsBeside } from "../../checkpoint/signals/mailbox.ts";
import { type SentSignal, signalIn } from "../../checkpoint/signals/signal.ts";
import { positionOf } from "../../checkpoint/thread/position.ts";
import { type Tail, Thread } from "../../checkpoint/thread/thread.ts";
import { reasonOf, StateError } from "../../errors.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { UserMessage } from "../../state/message.ts";
import { subjectsOfMessage } from "../../state/people/subjects.ts";
import { guardedPrompt } from "../guards.ts";
import { answerWaiting } from "../tool-call/completing.ts";
import { openCalls } from "../tool-call/ledger.ts";
import type { RunContext } from "./run-context.ts";

/** How long a run may go without a write before it looks whether it was cancelled. */
const LOOK_MS = 1000;

/**
 * What other processes send to the thread of a run. Its own writes say whether anything
 * waits, so a run whose steps are short never polls the storage. During a long step it
 * looks once a second, because a cancellation must not wait for the end of it. (A
 * subscription would be faster, but with a subscriber every save in PostgreSQL has to
 * notify, and commits wait for one another.)
 */
export class Mail {
  readonly #thread: Thread | undefined;
  readonly #known = new Map<string, SentSignal>();
  /** Its effect is in the state of the session, or the run's own opening brings it. */
  readonly #taken = new Set<string>();
  /** These stay for a run of their own. */
  readonly #left = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #onCancel: () => void = () => undefined;

  constructor(checkpointer: BaseCheckpointer | undefined, threadId: string | undefined) {
    const context = checkpointer && contextOf(checkpointer);
    if (context !== undefined && threadId !== undefined) this.#thread = new Thread(context, threadId, "signals");
  }

  /** What waits and was neither taken in nor left, oldest first, as far as the last write or look tells. */
  async news(stored: AgentState): Promise<readonly SentSignal[]> {
    await this.#read(this.#tailOf(stored));
    return [...this.#known.values()].filter(({ id }) => !this.#taken.has(id) && !this.#left.has(id));
  }

  /** Whether the last write of the run met something that it had not looked at. */
  hasUnread(stored: AgentState): boolean {
    return waitsBeside(this.#tailOf(stored), [...this.#known.keys()]);
  }

  /** Whether something waits that a further run of the same kind would take in. */
  hasMore(stored: AgentState): boolean {
    return waitsBeside(this.#tailOf(stored), [...this.#taken, ...this.#left]);
  }

  take(id: string): void {
    this.#taken.add(id);
  }

  leave(id: string): void {
    this.#left.add(id);
  }

  /** The run's own message may have been sent before. Where it waits, it is consumed as the run's own. */
  async claim(stored: AgentState, id: string | undefined): Promise<readonly string[]> {
    if (id === undefined) return [];
    await this.#read(this.#tailOf(stored));
    this.#taken.add(id);
    return this.#known.has(id) ? [id] : [];
  }

  /** Looks now, and then whenever the run wrote nothing for a while. `idleMs`: for how long it has not written. */
  watch(onCancel: () => void, idleMs: () => number): void {
    this.#onCancel = onCancel;
    if (this.#thread === undefined) return;
    const tick = (): void => {
      const since = idleMs();
      if (since < LOOK_MS) this.#timer = setTimeout(tick, LOOK_MS - since).unref();
      else
        void this.look().then(() => {
          if (this.#timer !== undefined) this.#timer = setTimeout(tick, LOOK_MS).unref();
        });
    };
    this.#timer = setTimeout(tick, LOOK_MS).unref();
  }

  /** A sender of this process says that it sent something. A look that fails is made up for by the next write. */
  async look(): Promise<void> {
    try {
      await this.#read(await this.#thread?.tail());
    } catch {
      return;
    }
    const isCancelled = [...this.#known.values()].some(({ kind, id }) => kind === "cancel" && !this.#taken.has(id));
    if (isCancelled) this.#onCancel();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#onCancel = () => undefined;
  }

  #tailOf(stored: AgentState): Tail | undefined {
    return this.#thread && positionOf(this.#thread.context, stored, this.#thread.id)?.tail;
  }

  async #read(tail: Tail | undefined): Promise<void> {
    if (this.#thread === undefined || !waitsBeside(tail, [...this.#known.keys()])) return;
    for (const record of await waitingRecords(this.#thread, tail)) {
      const signal = signalIn(record);
      this.#known.set(signal.id, signal);
    }
  }
}

/** What a run does with a cancellation that waited for it: one with words of its own was begun after it. */
export type OnCancel = "stop" | "go on";

/**
 * Takes in what waits: answers and outcomes at once, words when no call is open, so that each call is followed by its
 * result. With `takesWords: false`, words wait. An invalid signal affects only its sender: it is noted in the thread,
 * and the run continues. Returns whether the state changed.
 */
export async function takeMail(
  context: RunContext,
  { onCancel = "stop", takesWords = true }: { readonly onCancel?: OnCancel; readonly takesWords?: boolean } = {},
): Promise<boolean> {
  const { mail, session } = context;
  const before = session.state;
  for (const signal of await mail.news(session.stored)) {
    if (signal.kind === "cancel") {
      consume(context, signal.id);
      if (onCancel === "stop") context.stop.abort(new Cancelled(signal.reason));
    } else if (context.signal.aborted) {
      // Other signals are for a run that continues.
    } else if (signal.kind === "answers") {
      mail.take(signal.id);
      await answerWaiting(context, signal);
    } else if (takesWords && openCalls(session.state).length === 0) {
      await hear(context, signal.id, signal.message);
    }
  }
  if (session.state === before) return false;
  session.saveBeside();
  return true;
}

/** Why a run was ended that another process cancelled. */
class Cancelled extends Error {
  constructor(reason: string | undefined) {
    super(reason ?? "the run was cancelled");
  }
}

function consume({ mail, session }: RunContext, id: string, change = (state: AgentState) => state.with({})): void {
  mail.take(id);
  session.change(change, [id]);
}

async function hear(context: RunContext, id: string, message: UserMessage): Promise<void> {
  const { mail, session, turn } = context;
  const isSaid = session.state.messages.some((said) => said.role === "user" && said.id === message.id);
  if (isSaid || message.metadata?.["erased"] === true) return consume(context, id);
  try {
    if (!(await isForThisRun(context, message))) return mail.leave(id);
    const heard = await guardedPrompt(context, message);
    if ("stopReason" in heard) throw new StateError("PERMISSION_DENIED", heard.text ?? "a guard refused it");
    consume(context, id, (state) => state.withMessage(heard));
    turn?.heard.add(id);
  } catch (error) {
    refuse(context, id, error);
  }
}

/** Consumed without an effect, and why: its sender may be another process, so the thread keeps it. */
export function refuse(context: RunContext, id: string, error: unknown, consumes = true): void {
  const { parts, session, emit } = context;
  const noted = { at: parts.now(), where: `signal ${id}`, message: reasonOf(error) };
  if (consumes) consume(context, id, (state) => state.withError(noted));
  else session.change((state) => state.withError(noted));
  emit({ type: "signal-refused", id, error });
}

/** Words of another person run with that person's runtime, or wait for a run that has it. */
async function isForThisRun(context: RunContext, message: UserMessage): Promise<boolean> {
  const people = subjectsOfMessage(message);
  if (people === undefined) return true;
  context.person ??= people;
  if (samePeople(context.person, people)) return true;
  const { runtimeFor } = context.parts;
  if (runtimeFor === undefined) return false;
  context.runtime = await runtimeFor(message);
  context.person = people;
  return true;
}

const samePeople = (some: readonly string[], others: readonly string[]): boolean =>
  JSON.stringify([...some].sort()) === JSON.stringify([...others].sort());
