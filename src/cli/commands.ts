import type { CommandSpec } from "./command.ts";
import { CHANGING } from "./table/changing.ts";
import { ITEMS } from "./table/items.ts";
import { LOOKING } from "./table/looking.ts";
import { MOVING } from "./table/moving.ts";
import { PEOPLE } from "./table/people.ts";
import { SERVING } from "./table/serving.ts";
import { UPKEEP } from "./table/upkeep.ts";

/** The one table of commands, in the order of help: the parser, help, docs/reference/cli.md, completion and the tests are made from it. */
export const COMMANDS: readonly CommandSpec[] = [
  ...LOOKING,
  ...CHANGING,
  ...MOVING,
  ...ITEMS,
  ...PEOPLE,
  ...UPKEEP,
  ...SERVING,
];
