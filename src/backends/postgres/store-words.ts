import { shortenedWord } from "../../driver/shortened-word.ts";
import type { ItemWords } from "../../store/driver/store-driver.ts";

/** A lexeme has at most 2046 bytes. */
const MAX_WORD_CHARACTERS = 500;
/** A tsvector has less than a megabyte; words beyond that are not found. */
const MAX_BYTES = 900_000;
/** The largest position of a lexeme, and the most positions that it can have. */
const MAX_POSITION = 16_383;
const MAX_POSITIONS = 255;

/** The labels of a tsvector and the class of words that each stands for. `ts_rank` takes the weights from D to A. */
const LABELS: Readonly<Record<keyof ItemWords, string>> = { text: "A", label: "B", before: "C", after: "D" };
export const RANK_WEIGHTS = "'{0.15, 0.4, 1, 1}'";

/** The text of a tsvector: each word with its positions and its class. */
export function tsvectorOf(words: ItemWords | undefined): string | null {
  if (words === undefined) return null;
  const positions = new Map<string, string[]>();
  let position = 0;
  let bytes = 0;
  for (const kind of ["text", "label", "before", "after"] as const) {
    if (words[kind] === "") continue;
    for (const word of words[kind].split(" ")) {
      position = Math.min(position + 1, MAX_POSITION);
      const lexeme = shortenedWord(word, MAX_WORD_CHARACTERS);
      const known = positions.get(lexeme);
      if (known !== undefined && known.length >= MAX_POSITIONS) continue;
      bytes += known === undefined ? Buffer.byteLength(lexeme) + 8 : 2;
      if (bytes > MAX_BYTES) return written(positions);
      positions.set(lexeme, [...(known ?? []), `${position}${LABELS[kind]}`]);
    }
  }
  return written(positions);
}

/** Matches any of the words. */
export const anyWordQuery = (words: readonly string[]): string =>
  words.map((word) => quoted(shortenedWord(word, MAX_WORD_CHARACTERS))).join(" | ");

const written = (positions: ReadonlyMap<string, readonly string[]>): string =>
  [...positions].map(([lexeme, at]) => `${quoted(lexeme)}:${at.join(",")}`).join(" ");

const quoted = (lexeme: string): string => `'${lexeme.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
