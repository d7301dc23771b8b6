import type { Answers } from "./answer-types.ts";

export type RouteName = keyof Answers;

/**
 * Every route of Studio's API, once: the server answers by it, the page asks by
 * it, and the tests of the door take their rows from it. `{thread}` stands for
 * the thread's id in base64url.
 */
export interface StudioRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** "write" needs `--write`, "delete" also `--allow-delete`. */
  readonly access: "read" | "write" | "delete";
  /** The names that its query may have. */
  readonly query: readonly string[];
}

const read = (path: string, ...query: readonly string[]): StudioRoute => ({
  method: "GET",
  path,
  access: "read",
  query,
});
const post = (path: string, access: StudioRoute["access"]): StudioRoute => ({
  method: "POST",
  path,
  access,
  query: [],
});

const DIFF_SIDES = ["a", "aAt", "b", "bAt"];

export const ROUTES: Readonly<Record<RouteName, StudioRoute>> = {
  store: read("store"),
  threads: read("threads", "text", "standing", "meta", "sort", "from", "count", "readOn"),
  inbox: read("inbox", "cursor"),
  search: read("search", "words", "prefix", "cursor"),
  thread: read("threads/{thread}"),
  lineage: read("threads/{thread}/lineage"),
  checkpoints: read("threads/{thread}/checkpoints", "cursor", "count"),
  series: read("threads/{thread}/series"),
  messages: read("threads/{thread}/messages", "at", "from", "count"),
  problems: read("threads/{thread}/problems", "at"),
  find: read("threads/{thread}/find", "at", "words"),
  ledger: read("threads/{thread}/ledger", "at", "from", "count"),
  state: read("threads/{thread}/state", "at"),
  value: read("threads/{thread}/value", "at", "path", "from"),
  text: read("threads/{thread}/text", "at", "path", "from"),
  bytes: read("threads/{thread}/bytes", "at", "path", "from"),
  events: read("threads/{thread}/events"),
  diff: read("diff", ...DIFF_SIDES),
  graph: read("threads/{thread}/graph", "namespace", "at"),
  namespaces: read("namespaces", "cursor"),
  items: read("items", "namespace", "words", "cursor"),
  item: read("item", "namespace", "key"),
  neighbours: read("neighbours", "namespace", "key"),
  health: read("health"),
  proofs: post("proofs", "read"),
  cases: post("proofs/cases", "write"),
  inventory: post("people/inventory", "read"),
  planErasure: post("people/plan", "delete"),
  erase: post("people/erase", "delete"),
  fork: post("threads/{thread}/fork", "write"),
  edit: post("threads/{thread}/edit", "write"),
  answer: post("threads/{thread}/answer", "write"),
  settle: post("threads/{thread}/settle", "write"),
  breakLease: post("threads/{thread}/lease/break", "write"),
  planDelete: post("threads/{thread}/delete/plan", "delete"),
  delete: post("threads/{thread}/delete", "delete"),
};

/** No answer is larger, so that no view can ask for all of a long thread. Streams are made of lines that each keep to it. */
export const MOST_ANSWER_BYTES: number = 256 * 1024;
