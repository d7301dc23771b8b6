import type { ForeignReader } from "./unpacking.ts";

/** The tags under which adapters keep values of their own. */
export const FOREIGN_TAGS = {
  /** An instance of a class of LangChain's, as its serialiser wrote it: JSON of theirs. */
  langchain: "lc",
  /** What a serialiser of the user's made of a value. */
  serde: "serde",
  delta: "delta",
  regexp: "regexp",
  error: "error",
} as const;

const TAGS: ReadonlySet<string> = new Set(Object.values(FOREIGN_TAGS));

/** JSON that is not ours: nothing in it is a tag. */
const AS_IT_IS: ReadonlySet<string> = new Set([FOREIGN_TAGS.langchain, FOREIGN_TAGS.serde]);

/** Reads adapters' values as the plain data they are stored as, for readers that only display them. */
export const plainReader: ForeignReader = {
  reads: (tag) => TAGS.has(tag),
  revive: async (_, json) => JSON.parse(json) as unknown,
  wrapper: (tag) => (AS_IT_IS.has(tag) ? undefined : (value) => value),
};
