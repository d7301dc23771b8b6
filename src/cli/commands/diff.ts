import { encodeValue } from "../../state/codec.ts";
import { type Message, textOf } from "../../state/message.ts";
import { diffStates, type StateDiff } from "../../state/state-diff.ts";
import type { CommandCall } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../output/visible.ts";
import { cutTo } from "../output/width.ts";
import { type FoundState, placeNamed, stateOf } from "../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { printer, options } = call;
  const [before, after] = await bothSides(call);
  const diff = diffStates(before.state.fields, after.state.fields);
  const isSame = diff.messages.removed.length + diff.messages.added.length + Object.keys(diff.fields).length === 0;
  if (printer.isForPeople || printer.format === "tsv") await showDiff(call, diff);
  else await printer.document(diffJson(before, after, diff));
  if (isSame && printer.isForPeople) await call.note("no difference");
  return !isSame && options.flag("exit-code") ? EXIT.no : EXIT.done;
}

async function bothSides(call: CommandCall): Promise<readonly [FoundState, FoundState]> {
  const { a = "", b = "", c } = call.given;
  const checkpointer = await call.open();
  if (c === undefined) return [await placeNamed(checkpointer, a), await placeNamed(checkpointer, b)];
  return [await stateOf(checkpointer, a, b), await stateOf(checkpointer, a, c)];
}

const placeOf = ({ threadId, checkpointId }: FoundState): object => ({ threadId, checkpointId });

const diffJson = (before: FoundState, after: FoundState, { messages, fields }: StateDiff): unknown => ({
  before: placeOf(before),
  after: placeOf(after),
  messages: encodeValue(messages, "messages"),
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, { before: was, after: is }]) => [
      name,
      { before: jsonOf(was), after: jsonOf(is) },
    ]),
  ),
});

/** A field that only one side has is left out on the other. */
const jsonOf = (value: unknown): unknown => (value === undefined ? undefined : encodeValue(value, "field"));

async function showDiff({ printer, options }: CommandCall, { messages, fields }: StateDiff): Promise<void> {
  const { shared, removed, added } = messages;
  await printer.text(
    `messages\t${shared} shared, ${removed.length} removed, ${added.length} added`.replace("\t", "  "),
  );
  if (!options.flag("stat")) {
    for (const message of removed) await printer.text(`- ${lineOf(message, options.flag("wide"))}`);
    for (const message of added) await printer.text(`+ ${lineOf(message, options.flag("wide"))}`);
  }
  for (const [name, { before, after }] of Object.entries(fields)) {
    if (options.flag("stat")) await printer.text(`field     ${visible(name)}`);
    else await printer.text(`field     ${visible(name)}  ${shortly(before, options)} → ${shortly(after, options)}`);
  }
}

function lineOf(message: Message, isWide: boolean): string {
  const text = visible(`${message.role}: ${textOf(message)}`);
  return isWide ? text : cutTo(text, 100);
}

function shortly(value: unknown, options: CommandCall["options"]): string {
  if (value === undefined) return "(none)";
  const text = visible(JSON.stringify(encodeValue(value, "field")));
  return options.flag("wide") ? text : cutTo(text, 60);
}
