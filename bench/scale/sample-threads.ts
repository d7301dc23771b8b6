import { createHash } from "node:crypto";
import { AgentState } from "../../src/state/agent-state.ts";
import { conversation, type WorkloadMessage } from "../workload.ts";

/** Saves a thread has. */
export const CHECKPOINTS = 3;
/** Bytes of text in one message, about. */
const TEXT_BYTES = 200;
/** A small store has these threads and no others. A large one has them too, and they are what is asked for. */
export const OWN_THREADS = 1000;
/** Every further thread of a large store is a copy of one of these. */
export const COPIED_THREADS = 1000;
export const THREADS_OF_A_CUSTOMER = 20;
export const THREADS_WITH_A_WORD = 5;
/** One in this many threads has the word. */
const SHARE_WITH_COMMON_WORD = 10;
export const COMMON_WORD = "refund";

/** Texts of an ordinary vocabulary. */
const texts = conversation(1, 2000).map(({ content }) => content.slice(0, TEXT_BYTES));

/** In an order that has nothing to do with when a thread was made, as ids of users and UUIDs are. */
export const threadId = (index: number): string =>
  `${createHash("md5").update(String(index)).digest("hex").slice(0, 10)}-${index}`;
/** The same in PostgreSQL. */
export const sqlThreadId = (index: string): string => `substr(md5(${index}::text), 1, 10) || '-' || ${index}`;

/** The thread that this one is a copy of, or itself. */
export const originalOf = (index: number): number =>
  index < OWN_THREADS ? index : OWN_THREADS + ((index - OWN_THREADS) % COPIED_THREADS);

export const customerOf = (index: number): string =>
  `customer-${Math.floor(originalOf(index) / THREADS_OF_A_CUSTOMER)}`;

/** What each checkpoint of a thread is saved with. */
export const metadataOf = (index: number): Readonly<Record<string, string>> => ({
  customer: customerOf(index),
  plan: "pro",
});

/** A word of letters only, whole in itself: no other one begins with it. Those of own threads are not in copies. */
export function rareWord(index: number): string {
  const number = Math.floor(originalOf(index) / THREADS_WITH_A_WORD);
  return `zq${[...String(number)].map((digit) => String.fromCharCode(97 + Number(digit))).join("")}z`;
}

/** The states of one thread, one for each save. */
export function statesOf(index: number): readonly AgentState[] {
  const states: AgentState[] = [];
  let state = AgentState.create();
  for (let step = 0; step < CHECKPOINTS; step++) {
    state = state.withMessage(messageOf(originalOf(index), step));
    states.push(state);
  }
  return states;
}

function messageOf(index: number, step: number): WorkloadMessage {
  const text = texts[(index * CHECKPOINTS + step) % texts.length] ?? "";
  const common = step === 1 && index % SHARE_WITH_COMMON_WORD === 0 ? ` ${COMMON_WORD}` : "";
  const rare = step === 0 ? ` ${rareWord(index)}` : "";
  return { role: step % 2 === 0 ? "user" : "assistant", content: `${text}${rare}${common}` };
}

/** What a thread holds that a user would count, on the average. */
export function payloadOfAThread(): number {
  let sum = 0;
  for (let index = 0; index < OWN_THREADS; index++) {
    for (let step = 0; step < CHECKPOINTS; step++) {
      sum += Buffer.byteLength(JSON.stringify(messageOf(index, step)));
    }
  }
  return sum / OWN_THREADS;
}
