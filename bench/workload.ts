import { type SeededRandom, seededRandom } from "../test/processes/seeded-random.ts";

export const MESSAGE_BYTES = 1024;

export interface WorkloadMessage {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** A conversation of 1 KB messages, the same for every contender and every run with this seed. */
export function conversation(seed: number, length: number): readonly WorkloadMessage[] {
  const random = seededRandom(seed);
  const vocabulary = Array.from({ length: 4000 }, () => word(random));
  return Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: text(random, vocabulary),
  }));
}

/** ASCII letters only, so that characters and bytes are the same number. */
function word(random: SeededRandom): string {
  const letters = Array.from({ length: 2 + random.below(9) }, () => String.fromCharCode(97 + random.below(26)));
  return letters.join("");
}

/** Squaring makes some words common and most of them rare, as in a language. */
function text(random: SeededRandom, vocabulary: readonly string[]): string {
  let written = "";
  while (written.length < MESSAGE_BYTES) {
    written += `${vocabulary[Math.floor(random.next() ** 2 * vocabulary.length)]} `;
  }
  return written.slice(0, MESSAGE_BYTES);
}
