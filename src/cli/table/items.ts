import type { CommandSpec } from "../command.ts";
import { ALL, CURSOR, EXIT_CODE, LIMIT } from "./option-specs.ts";

const PAGING = { limit: LIMIT, cursor: CURSOR, all: ALL };
const NAMESPACE_NOTE =
  "A namespace is its segments with slashes between them, users/ann; in a segment, / is written %2F and % is written %25.";

/** Commands that look at the items beside the threads. */
export const ITEMS: readonly CommandSpec[] = [
  {
    name: "store namespaces",
    summary: "the namespaces that hold items",
    store: "read",
    arguments: [{ name: "prefix", optional: true }],
    options: PAGING,
    notes: NAMESPACE_NOTE,
    examples: ["store namespaces sqlite:./agents.db", "store namespaces sqlite:./agents.db users/ann"],
    load: () => import("../commands/items/store-namespaces.ts"),
  },
  {
    name: "store items",
    summary: "the items of a namespace, or all of them",
    store: "read",
    arguments: [{ name: "namespace", optional: true }],
    options: { recursive: { short: "r", help: "include the namespaces below it" }, ...PAGING },
    notes: NAMESPACE_NOTE,
    examples: ["store items sqlite:./agents.db users/ann -r"],
    load: () => import("../commands/items/store-items.ts"),
  },
  {
    name: "store get",
    summary: "one item",
    store: "read",
    arguments: [{ name: "namespace" }, { name: "key" }],
    options: {},
    examples: ["store get sqlite:./agents.db users/ann settings"],
    load: () => import("../commands/items/store-get.ts"),
  },
  {
    name: "store search",
    summary: "find words in the items below a namespace",
    store: "read",
    arguments: [{ name: "namespace" }, { name: "words", rest: true }],
    options: { ...PAGING, "exit-code": EXIT_CODE },
    notes: `${NAMESPACE_NOTE} / is all of them. By words only: to search by meaning, a program's own embedder is needed.`,
    examples: ["store search sqlite:./agents.db / window seat"],
    load: () => import("../commands/items/store-search.ts"),
  },
  {
    name: "memories",
    summary: "what agents remember of people, and from which thread",
    store: "read",
    arguments: [{ name: "user", optional: true }],
    options: {
      prefix: { value: "namespace", help: "where memories are kept (default memory)" },
      ended: { help: "include those that no longer hold" },
      ...PAGING,
    },
    examples: ["memories sqlite:./agents.db", "memories sqlite:./agents.db ann --ended"],
    load: () => import("../commands/items/memories.ts"),
  },
];
