import { referenceOfCommands } from "../../src/cli/reference.ts";
import type { SyncedPart } from "./part.ts";

const MARK = "<!-- from here on written from src/cli/commands.ts by `npm run sync` -->\n";

/** The reference in docs/cli.md, from the table of commands. */
export const COMMANDS: SyncedPart = {
  path: "docs/cli.md",
  source: "src/cli/commands.ts",
  write: (text) => `${text.split(MARK)[0] ?? ""}${MARK}\n${referenceOfCommands()}\n`,
};
