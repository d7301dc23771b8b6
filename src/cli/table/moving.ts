import type { CommandSpec } from "../command.ts";
import { DRY_RUN, ON_CONFLICT } from "./option-specs.ts";

/** Commands that move threads from one store to another. */
export const MOVING: readonly CommandSpec[] = [
  {
    name: "copy",
    summary: "copy threads from one store to another, of whatever kind",
    store: "two",
    arguments: [{ name: "pattern", optional: true }],
    options: {
      verify: {
        value: "what",
        choices: ["full", "copied", "sample", "none"],
        help: "read back and compare by hash all threads, those copied now, a tenth of them, or nothing (default full)",
      },
      "on-conflict": ON_CONFLICT,
      freeze: {
        help: "hold the lease of each thread of the source while it is copied, so that no other process writes to it; what a killed copy held is free after 10 s",
      },
      "cut-over": {
        help: "mark each thread of the source as moved once it is copied and compared: later saves there are refused and told where it is",
      },
      jobs: { value: "n", help: "how many threads at once (default 1)" },
      bwlimit: { value: "rate", help: "at most this many bytes a second, such as 500k or 10M" },
      "dry-run": DRY_RUN,
    },
    notes:
      "Repeating the command resumes it: there is no state file, the target is the state. Records keep their write ids, checkpoints their names and times; leases are not copied. Two live copies of a thread would run the same effects twice: stop the agents first, or move with --cut-over. From the tables of LangGraph's own checkpointers (langgraph+postgres://…, langgraph+sqlite:./file.db) threads of graphs are copied, read back and compared; nothing is written there.",
    examples: [
      "copy sqlite:./agents.db env:DATABASE_URL",
      "copy env:OLD env:NEW 'trip-*' --dry-run",
      "copy langgraph+postgres://localhost/graphs postgres://localhost/agents",
    ],
    load: () => import("../commands/moving/copy.ts"),
  },
  {
    name: "export",
    summary: "write threads to stdout, as a file that import takes",
    store: "read",
    arguments: [{ name: "pattern", optional: true }],
    options: {},
    notes:
      "One JSON object a line, whatever -o says: every record as it is stored, and hashes that show a file that was cut off or changed.",
    examples: ["export sqlite:./agents.db 'trip-*' > trips.ndjson"],
    load: () => import("../commands/moving/export.ts"),
  },
  {
    name: "import",
    summary: "put the threads of an export into a store",
    store: "write",
    arguments: [{ name: "file" }],
    options: { "on-conflict": ON_CONFLICT, "dry-run": DRY_RUN },
    notes: "- is stdin. The whole file is proven before anything is written; repeating the command resumes it.",
    examples: ["import sqlite:./new.db trips.ndjson"],
    load: () => import("../commands/moving/import.ts"),
  },
];
