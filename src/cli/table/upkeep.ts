import type { CommandSpec } from "../command.ts";

/** Commands that check and mend a store. */
export const UPKEEP: readonly CommandSpec[] = [
  {
    name: "verify",
    summary: "prove every record of every thread",
    store: "read",
    arguments: [{ name: "pattern", optional: true }],
    options: {},
    notes:
      "Lists what is damaged and which checkpoints are lost by it, and ends with 6; lists nothing where all is well.",
    examples: ["verify sqlite:./agents.db", "verify env:DATABASE_URL 'trip-*' -o json"],
    load: () => import("../commands/verify.ts"),
  },
];
