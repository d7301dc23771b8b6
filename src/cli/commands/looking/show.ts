import type { ToolExecution } from "../../../state/fields.ts";
import { type Message, textOf } from "../../../state/message.ts";
import { withStanding } from "../../../state/tool-calls.ts";
import { encodeValue, type JsonValue } from "../../../state/values/codec.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { standingText } from "../../output/summaries.ts";
import { visibleLines } from "../../output/visible.ts";
import { countText } from "../../output/wording.ts";
import { type FoundState, stateOf } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const found = await stateOf(await call.open(), given["thread"] ?? "", options.text("at"));
  const { threadId, checkpointId, state } = found;
  const field = options.text("field");
  if (field !== undefined) await printer.document(partOf(state.toCheckpoint().state, field));
  else if (options.flag("raw")) await printer.document(state.toCheckpoint());
  else if (options.flag("ledger")) await showLedger(call, state.toolExecutions);
  else if (printer.format === "id") await printer.text(checkpointId);
  else if (printer.isForPeople || printer.format === "tsv") await showPage(call, found);
  else await printer.document({ threadId, checkpointId, ...state.toCheckpoint() });
  return EXIT.done;
}

async function showPage(
  { printer, options }: CommandCall,
  { threadId, checkpointId, state }: FoundState,
): Promise<void> {
  const { messages, totals } = state;
  const newest = options.count("messages", 20);
  const shown = newest === 0 ? [] : messages.slice(-newest);
  if (!printer.isForPeople) {
    for (const [index, message] of shown.entries()) {
      const cells = [String(messages.length - shown.length + index), message.role, textOf(message)];
      await printer.text(cells.map((cell) => visibleLines(cell).replaceAll("\n", "\\n")).join("\t"));
    }
    return;
  }
  await printer.facts(
    [
      ["thread", { id: threadId }],
      ["checkpoint", { id: checkpointId }],
      ["standing", standingText(withStanding(state.fields).standing)],
      ["messages", countText(messages.length)],
      ["tokens", `${countText(totals.inputTokens)} in, ${countText(totals.outputTokens)} out`],
    ],
    undefined,
  );
  if (shown.length < messages.length) await printer.text(`\n… ${messages.length - shown.length} before these`);
  for (const message of shown) {
    const calls = callsIn(message);
    const lines = [textOf(message), ...calls].filter((text) => text !== "").join("\n");
    await printer.text(`\n${printer.bold(message.role)}\n${visibleLines(lines)}`);
  }
}

const callsIn = (message: Message): readonly string[] =>
  message.role === "assistant"
    ? (message.toolCalls ?? []).map(
        ({ name, arguments: given }) => `→ ${name} ${JSON.stringify(encodeValue(given, "arguments"))}`,
      )
    : [];

const showLedger = ({ printer }: CommandCall, items: readonly ToolExecution[]): Promise<number> =>
  printer.list({
    items,
    columns: [
      { title: "call", cell: ({ toolCallId }) => ({ id: toolCallId }) },
      { title: "tool", cell: ({ toolName }) => toolName },
      { title: "status", cell: ({ status }) => status },
      { title: "effect", cell: ({ effect }) => effect },
      { title: "attempts", cell: ({ attempts }) => attempts, align: "right" },
      { title: "settled", cell: ({ settledAt }) => (settledAt === undefined ? undefined : new Date(settledAt)) },
      {
        title: "key",
        cell: ({ idempotencyKey }) => (idempotencyKey === undefined ? undefined : { id: idempotencyKey }),
      },
      { title: "error", cell: ({ error }) => error },
    ],
    json: (execution) => encodeValue(execution, "execution"),
    id: ({ toolCallId }) => toolCallId,
  });

/** `messages.0.content`: the names on the way, with dots between them. */
function partOf(tree: JsonValue, path: string): JsonValue {
  let found: JsonValue | undefined = tree;
  for (const name of path.split(".")) {
    const isBranch = typeof found === "object" && found !== null && Object.hasOwn(found, name);
    if (!isBranch) throw new UsageError(`the state has no ${path}`, "show --raw shows all of it");
    found = (found as Readonly<Record<string, JsonValue>>)[name];
  }
  return found ?? null;
}
