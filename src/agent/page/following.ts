import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { loadState } from "../../checkpoint/thread/loaded-state.ts";
import { sleep } from "../../internal/time.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { Message } from "../../state/message.ts";
import { pendingIn } from "../../state/pending.ts";
import { withStanding } from "../../state/tool-calls.ts";
import type { StopReason } from "../events.ts";
import { stopReasonOf } from "../model-call/finish.ts";
import { isRepairRequest, turnOf } from "../run/turn-number.ts";
import { deniedApproval } from "../tool-call/interrupts.ts";
import { type UIMessageChunk, UIMessageWriter, type UIStreamOptions } from "./ui-stream.ts";

export interface FollowOptions extends UIStreamOptions {
  readonly signal?: AbortSignal;
  /** How often to look where the storage cannot call back. @default 250 */
  readonly pollMs?: number;
}

const LOOK_AGAIN_MS = 1_000;

/** Whether the thread's last turn is unfinished, in any process. */
export function isUnderWay(state: AgentState | undefined): boolean {
  if (state === undefined) return false;
  const { unfinished = false, stopped = false } = withStanding(state).standing ?? {};
  return unfinished && !stopped && whatWaits(state) === undefined;
}

/**
 * The thread's last turn for a page, from any process: what exists, at once, and
 * then what becomes durable. It ends when the turn does, or when the turn waits for
 * a person or an outcome.
 */
export async function* followTurn(
  checkpointer: BaseCheckpointer,
  threadId: string,
  options: FollowOptions,
): AsyncGenerator<UIMessageChunk, void, undefined> {
  const over = new AbortController();
  const signal = options.signal === undefined ? over.signal : AbortSignal.any([over.signal, options.signal]);
  const changes = changesOf(checkpointer, threadId, signal, options.pollMs ?? 250);
  const page = new UIMessageWriter(options);
  let turn: number | undefined;
  let seen = 0;
  let changed = changes.next();
  try {
    while (!signal.aborted) {
      const state = await loadState(checkpointer, threadId);
      if (state === undefined) return yield* page.end("stopped");
      turn ??= turnOf(state);
      const said = ofTurn(state, turn);
      for (const message of said.slice(seen)) {
        if (message.role === "tool" && deniedApproval(state, message.toolCallId)) page.denied(message.toolCallId);
        yield* page.said(message, turn);
      }
      seen = said.length;
      const ended = endOf(state, turn);
      if (ended !== undefined) {
        for (const pending of pendingIn(state)) yield* page.pending(pending);
        return yield* page.end(ended);
      }
      // A watch that began a moment too late would wait for the next save: look again after a while in any case.
      const rung = await within(LOOK_AGAIN_MS, changed, signal);
      if (rung?.done === true) return;
      if (rung !== undefined) changed = changes.next();
    }
  } finally {
    over.abort();
  }
}

/** What `work` brings, or nothing when the time is up or the signal aborts. The clock does not outlive the answer. */
async function within<T>(ms: number, work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const over = new AbortController();
  const end = (): void => over.abort();
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  try {
    const timeUp = sleep(ms, over.signal).then(
      () => undefined,
      () => undefined,
    );
    return await Promise.race([work, timeUp]);
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}

/** What was said since the user's words that began this turn, up to those that began the next. */
function ofTurn({ messages }: AgentState, turn: number): readonly Message[] {
  const starts = messages.flatMap((message, index) =>
    message.role === "user" && !isRepairRequest(message) ? [index] : [],
  );
  return messages.slice((starts[turn - 1] ?? -1) + 1, starts[turn] ?? messages.length);
}

function endOf(state: AgentState, turn: number): StopReason | undefined {
  if (turnOf(state) !== turn) return "complete";
  const waits = whatWaits(state);
  if (waits !== undefined) return waits;
  const { unfinished = false, stopped = false } = withStanding(state).standing ?? {};
  if (stopped) return "stopped";
  if (unfinished) return undefined;
  const last = state.messages.findLast((message) => message.role === "assistant");
  return last?.role === "assistant" ? stopReasonOf(last) : "complete";
}

/** The turn cannot continue by itself if every open call waits: for a person, or for its outcome. */
function whatWaits(state: AgentState): StopReason | undefined {
  const { open = 0, waiting = 0 } = withStanding(state).standing ?? {};
  return open === 0 || open > waiting ? undefined : "pending";
}

/** Yields whenever it is worth looking again. */
async function* changesOf(
  checkpointer: BaseCheckpointer,
  threadId: string,
  signal: AbortSignal,
  pollMs: number,
): AsyncGenerator<unknown, void, undefined> {
  if (checkpointer.capabilities.watch) yield* checkpointer.watch(threadId, { signal, pollMs });
  while (!signal.aborted) {
    await sleep(pollMs, signal).catch(() => undefined);
    if (!signal.aborted) yield undefined;
  }
}
