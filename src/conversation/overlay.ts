import { nodeCrypto } from "../internal/node-builtins.ts";
import type { Message } from "../state/message.ts";
import { canonicalJson } from "../state/values/codec.ts";
import { isPlainObject } from "../state/values/doorway.ts";

/**
 * How a thread's conversation is shown instead of how it is stored. The log
 * keeps every message; this is a small value in the thread's state that is saved,
 * forked and restored with it. Between two compactions it does not change, and so
 * a prompt begins as the one before it did, byte for byte.
 */
export interface Overlay {
  readonly version: 1;
  /** How many messages from the start are not shown. */
  readonly covers: number;
  /**
   * The fingerprint of those messages. After an edit of the history it no longer fits, and the overlay
   * is not used.
   */
  readonly fingerprint: string;
  /** What stands for them; empty where nothing is summarised. */
  readonly summary: string;
  /**
   * How many messages are in the summary: fewer than are covered if the last summary could not be made.
   */
  readonly summarizes: number;
  /** How often in a row it could not be brought up to date. */
  readonly failures: number;
  /** What the user wanted to hold throughout, in the user's own words. */
  readonly standing: readonly string[];
  /** Long results of tools before this message are shown as a note that they were left out. */
  readonly clearedBefore: number;
  readonly compactions: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Who wrote the summary. */
  readonly model: string;
  /** What the model counts for one token of our estimate; `null` before its first report. */
  readonly ratio: number | null;
}

export const NO_OVERLAY: Overlay = {
  version: 1,
  covers: 0,
  fingerprint: "",
  summary: "",
  summarizes: 0,
  failures: 0,
  standing: [],
  clearedBefore: 0,
  compactions: 0,
  tokensBefore: 0,
  tokensAfter: 0,
  model: "",
  ratio: null,
};

/** The overlay that a thread holds, if it is one of ours and still belongs to these messages. */
export function overlayFor(messages: readonly Message[], stored: unknown): Overlay {
  const overlay = storedOverlay(stored);
  if (overlay.covers === 0 && overlay.clearedBefore <= messages.length) return overlay;
  const fits = overlay.covers <= messages.length && overlay.clearedBefore <= messages.length;
  return fits && fingerprint(messages, overlay.covers) === overlay.fingerprint
    ? overlay
    : { ...NO_OVERLAY, ratio: overlay.ratio };
}

/** The same without a look at the messages. What another port left behind, or a newer version, is not ours to use. */
export function storedOverlay(stored: unknown): Overlay {
  return isPlainObject(stored) && stored["version"] === 1 && typeof stored["covers"] === "number"
    ? (stored as unknown as Overlay)
    : NO_OVERLAY;
}

/** One text for the first `count` messages. Empty for no messages. */
export function fingerprint(messages: readonly Message[], count: number): string {
  if (count === 0) return "";
  const digests: string[] = [];
  for (let index = 0; index < count; index++) {
    const message = messages[index];
    if (message !== undefined) digests.push(digestOf(message));
  }
  return nodeCrypto().createHash("sha256").update(digests.join("")).digest("hex").slice(0, 32);
}

/** Messages do not change, and an overlay is checked before every model call: each is looked at once. */
const known = new WeakMap<Message, string>();

function digestOf(message: Message): string {
  const before = known.get(message);
  if (before !== undefined) return before;
  const digest = nodeCrypto().createHash("sha256").update(canonicalJson(message)).digest("base64").slice(0, 24);
  known.set(message, digest);
  return digest;
}
