import { referenceOfCommands } from "../../src/cli/help.ts";
import type { SyncedPart } from "./part.ts";

export const COMMANDS: SyncedPart = {
  path: "docs/reference/cli.md",
  source: "src/cli/commands.ts",
  write: () => `${referenceOfCommands()}\n`,
};
