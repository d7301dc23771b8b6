import type { Checkpointer } from "../../../checkpoint/checkpointer.ts";
import type { ListDiff, StateDiff } from "../../../state/diff.ts";
import { type Message, textOf } from "../../../state/message.ts";
import { encodeValue } from "../../../state/values/codec.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { visible } from "../../output/visible.ts";
import { cutTo } from "../../output/width.ts";
import { type FoundPlace, placeNamed, placeOf } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { printer, options } = call;
  const checkpointer = await call.open();
  const [before, after] = await bothSides(call, checkpointer);
  const diff = await checkpointer.diff(before, after);
  const isSame = Object.keys({ ...diff.fields, ...diff.lists }).length === 0 && isSameList(diff.messages);
  if (printer.isForPeople || printer.format === "tsv") await showDiff(call, diff);
  else await printer.document(diffJson(before, after, diff));
  if (isSame && printer.isForPeople) await call.note("no difference");
  return !isSame && options.flag("exit-code") ? EXIT.no : EXIT.done;
}

const isSameList = ({ removed, added }: ListDiff): boolean => removed.length + added.length === 0;

async function bothSides(call: CommandCall, checkpointer: Checkpointer): Promise<readonly [FoundPlace, FoundPlace]> {
  const { a = "", b = "", c } = call.given;
  if (c === undefined) return [await placeNamed(checkpointer, a), await placeNamed(checkpointer, b)];
  return [await placeOf(checkpointer, a, b), await placeOf(checkpointer, a, c)];
}

const diffJson = (before: FoundPlace, after: FoundPlace, { messages, fields, lists }: StateDiff): unknown => ({
  before,
  after,
  ...(lists === undefined
    ? { messages: encodeValue(messages, "messages") }
    : { lists: encodeValue({ ...lists }, "lists") }),
  fields: Object.fromEntries(
    Object.entries(fields).map(([name, { before: was, after: is }]) => [
      name,
      { before: jsonOf(was), after: jsonOf(is) },
    ]),
  ),
});

/** A field that only one side has is left out on the other. */
const jsonOf = (value: unknown): unknown => (value === undefined ? undefined : encodeValue(value, "field"));

async function showDiff(call: CommandCall, { messages, fields, lists }: StateDiff): Promise<void> {
  const { printer, options } = call;
  // A graph has its messages in a channel, if it has any.
  if (lists === undefined) await showList(call, "messages  ", messages, lineOf);
  for (const [name, list] of Object.entries(lists ?? {}))
    await showList(call, `list      ${visible(name)}  `, list, valueText);
  for (const [name, { before, after }] of Object.entries(fields)) {
    if (options.flag("stat")) await printer.text(`field     ${visible(name)}`);
    else await printer.text(`field     ${visible(name)}  ${shortly(before, options)} → ${shortly(after, options)}`);
  }
}

async function showList<Item>(
  { printer, options }: CommandCall,
  title: string,
  { shared, removed, added }: ListDiff<Item>,
  text: (item: Item) => string,
): Promise<void> {
  await printer.text(`${title}${shared} shared, ${removed.length} removed, ${added.length} added`);
  if (options.flag("stat")) return;
  const line = (item: Item): string => (options.flag("wide") ? text(item) : cutTo(text(item), 100));
  for (const item of removed) await printer.text(`- ${line(item)}`);
  for (const item of added) await printer.text(`+ ${line(item)}`);
}

const lineOf = (message: Message): string => visible(`${message.role}: ${textOf(message)}`);

const valueText = (value: unknown): string => visible(JSON.stringify(encodeValue(value, "field")));

function shortly(value: unknown, options: CommandCall["options"]): string {
  if (value === undefined) return "(none)";
  const text = valueText(value);
  return options.flag("wide") ? text : cutTo(text, 60);
}
