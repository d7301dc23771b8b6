import type { CommandSpec } from "../command.ts";
import { AT, DRY_RUN, THREAD, YES } from "./option-specs.ts";

/** Commands that change threads. */
export const CHANGING: readonly CommandSpec[] = [
  {
    name: "answer",
    summary: "answer a question of the inbox",
    store: "write",
    arguments: [THREAD, { name: "interrupt" }, { name: "json", optional: true }],
    options: {
      approve: { help: "let the call run" },
      deny: { value: "reason", help: "do not let it run" },
      "dry-run": DRY_RUN,
    },
    notes: "The answer is JSON, or - for stdin. The turn goes on when an agent runs the thread again.",
    examples: [
      "answer sqlite:./agents.db trip-42 call-7/1 '\"window\"'",
      "answer sqlite:./agents.db pay-3 call-1 --approve",
    ],
    load: () => import("../commands/answer.ts"),
  },
  {
    name: "settle",
    summary: "say how a call in doubt ended",
    store: "write",
    arguments: [THREAD, { name: "call" }, { name: "outcome" }],
    options: {
      by: { value: "name", help: "who says so; kept with the call" },
      reason: { value: "text", help: "how it was found out; kept with the call and told to the model" },
      result: { value: "text", help: "what the tool would have returned" },
      "dry-run": DRY_RUN,
    },
    notes: "The outcome is done or not-done.",
    examples: ["settle sqlite:./agents.db pay-3 call-1 done --by ann --reason 'charge ch_1 is in the dashboard'"],
    load: () => import("../commands/settle.ts"),
  },
  {
    name: "fork",
    summary: "start a new thread from a checkpoint of another",
    store: "write",
    arguments: [THREAD, { name: "new" }],
    options: {
      at: AT,
      "settle-open": { help: "calls that are open there are not run in the fork" },
      "keep-open": { help: "calls that are open there run in the fork as well" },
      "dry-run": DRY_RUN,
    },
    notes: "Refused while calls are open at that checkpoint, unless one of the two says what becomes of them.",
    examples: ["fork sqlite:./agents.db trip-42 trip-42-b --at @-3"],
    load: () => import("../commands/fork.ts"),
  },
  {
    name: "delete",
    summary: "delete a thread, or one checkpoint of it",
    store: "write",
    arguments: [THREAD],
    options: {
      at: AT,
      "if-head": { value: "checkpoint", help: "only while this is its newest checkpoint" },
      "dry-run": DRY_RUN,
      yes: YES,
    },
    examples: ["delete sqlite:./agents.db trip-42 --dry-run"],
    load: () => import("../commands/delete.ts"),
  },
  {
    name: "vacuum",
    summary: "remove old checkpoints of every thread",
    store: "write",
    arguments: [],
    options: {
      "older-than": { value: "time", help: "those older than 30d, say, and threads whose newest is" },
      "keep-last": { value: "n", help: "at least so many of every thread stay" },
      "dry-run": DRY_RUN,
      yes: YES,
    },
    examples: ["vacuum sqlite:./agents.db --older-than 30d --keep-last 5 --dry-run"],
    load: () => import("../commands/vacuum.ts"),
  },
  {
    name: "lease show",
    summary: "who holds a thread, and until when",
    store: "read",
    arguments: [THREAD],
    options: {},
    examples: ["lease show sqlite:./agents.db trip-42"],
    load: () => import("../commands/lease-show.ts"),
  },
  {
    name: "lease break",
    summary: "take a thread from its holder, whose next save is refused",
    store: "write",
    arguments: [THREAD],
    options: { "if-token": { value: "token", help: "only while it is this lease" }, "dry-run": DRY_RUN, yes: YES },
    examples: ["lease break sqlite:./agents.db trip-42 --if-token 4f0c9a1be27d"],
    load: () => import("../commands/lease-break.ts"),
  },
];
