import { StateError } from "../../errors.ts";
import { sleep } from "../../internal/time.ts";
import { HEARTBEAT_MS } from "../../wire/protocol.ts";
import { type Connection, open } from "./requests.ts";

/** After this much silence the connection is dead: the service sends a heartbeat every few seconds. */
const SILENCE_MS = HEARTBEAT_MS * 3;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 5_000];
/** The longest pause that a service may ask for. */
const LONGEST_WAIT_MS = 60_000;
/** No line of the service is this long. */
const LONGEST_LINE = 4096;

/**
 * Calls `onChange` for every event of a thread until the signal aborts, and
 * reconnects as often as needed. It also calls `onChange` when the connection broke,
 * because an event may have been missed: the watcher then reads the thread, and sees
 * a failure as an error.
 */
export async function watchRemote(
  connection: Connection,
  thread: string,
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      await readEvents(connection, thread, signal, () => {
        pause = FIRST_PAUSE_MS;
        onChange();
      });
    } catch (error) {
      // The watcher's next read reports the failure itself.
      const asked = StateError.is(error) ? error.context.retryAfterMs : undefined;
      pause = Math.max(pause, Math.min(asked ?? 0, LONGEST_WAIT_MS));
    }
    if (signal.aborted) return;
    onChange();
    await sleep(pause, signal).catch(() => undefined);
  }
}

async function readEvents(
  connection: Connection,
  thread: string,
  signal: AbortSignal,
  onEvent: () => void,
): Promise<void> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), connection.timeoutMs);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  try {
    const ended = AbortSignal.any([signal, silence.signal]);
    const response = await open(connection, "subscribe", { ids: { thread } }, ended);
    const decoder = new TextDecoder();
    let unread = "";
    for await (const chunk of response.body ?? []) {
      heard();
      unread += decoder.decode(chunk, { stream: true });
      const lines = unread.split("\n");
      unread = lines.pop() ?? "";
      if (unread.length > LONGEST_LINE) throw new StateError("TOO_LARGE", "an event of the service has no end");
      if (lines.some((line) => line === "event: change")) onEvent();
    }
  } finally {
    clearTimeout(timer);
  }
}
