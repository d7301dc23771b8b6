import type { CommandSpec } from "../command.ts";
import { DRY_RUN, THREAD, YES } from "./option-specs.ts";

/** Commands that check and mend a store. */
export const UPKEEP: readonly CommandSpec[] = [
  {
    name: "verify",
    summary: "prove every record of every thread",
    store: "read",
    arguments: [{ name: "pattern", optional: true }],
    options: {},
    notes:
      "Lists what is damaged and which checkpoints are lost by it, and ends with 6; with 3 where nothing is damaged and something cannot be read from here, because it is sealed or of a newer version; lists nothing where all is well.",
    examples: ["verify sqlite:./agents.db", "verify env:DATABASE_URL 'trip-*' -o json"],
    load: () => import("../commands/upkeep/verify.ts"),
  },
  {
    name: "repair",
    summary: "save the intact part of a damaged thread",
    store: "write",
    arguments: [THREAD],
    options: {
      to: { value: "thread", help: "make this thread of the newest checkpoint that can be loaded" },
      salvage: { value: "file", help: "write what single records after the damage still contain, for people to read" },
      "dry-run": DRY_RUN,
    },
    notes:
      "Never in place: the damaged thread stays as it is until you delete it. Without options it says which records are damaged and which checkpoint is the newest that loads, and ends with 6. Calls that were open at that checkpoint are not run again, because they may have been carried out in what was lost.",
    examples: [
      "repair sqlite:./agents.db trip-42",
      "repair sqlite:./agents.db trip-42 --to trip-42-saved --salvage lost.ndjson",
    ],
    load: () => import("../commands/upkeep/repair.ts"),
  },
  {
    name: "doctor",
    summary: "prove on the store itself that it does what an agent relies on",
    store: "write",
    arguments: [],
    options: {
      quick: {
        help: "without the longest case and without latency; of other threads only the newest entry is looked at",
      },
      cases: { value: "area", help: "only the cases of this area, such as append or search" },
      latency: { help: "measure latency only" },
      scratch: { value: "prefix", help: "what the ids of its own threads begin with (default doctor-)" },
      clean: { help: "remove what a killed run left behind, and do nothing else" },
      "dry-run": DRY_RUN,
      yes: YES,
    },
    notes:
      "Writes threads of its own below doctor-…/ and removes them again, also after Ctrl-C; other threads are read and proven, and not changed. While it runs, other programs may list its threads, as damaged ones. Ends with 1 where a case failed, with 6 where a thread is damaged. What needs a clock that can be moved or an outage cannot be proven on a store that is in use.",
    examples: ["doctor env:DATABASE_URL", "doctor sqlite:./agents.db --quick", "doctor env:DATABASE_URL --clean"],
    load: () => import("../commands/upkeep/doctor.ts"),
  },
  {
    name: "migrate",
    summary: "see whether the tables of a store are up to date, and bring them there",
    store: "write",
    arguments: [],
    options: {
      check: { help: "print which tables are due, and exit with 1 if any is (the default)" },
      print: { help: "print the statements, for an administrator to run" },
      apply: { help: "run the statements; creates missing tables" },
      parts: {
        value: "list",
        help: "checkpoints, store (default: those that exist, or all if there are none)",
      },
      "dry-run": DRY_RUN,
    },
    notes:
      "For SQLite, PostgreSQL, MySQL and Oracle Database; other stores have no tables. Programs migrate by themselves at their first use, so this is for deployments in which they may not. States of your own schema are for your program to migrate.",
    examples: ["migrate env:DATABASE_URL --check", "migrate env:DATABASE_URL --print > upgrade.sql"],
    load: () => import("../commands/upkeep/migrate.ts"),
  },
];
