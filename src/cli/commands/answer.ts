import { answerInterrupt, type PersonAnswer, pendingInterrupts } from "../../agent/tool-call/interrupts.ts";
import type { CommandCall } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-codes.ts";
import { missingThread } from "../references.ts";

const MOST_BYTES = 1024 * 1024;

/** One save on the condition that the thread is as it was read, with the head's metadata: a query must still find it. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer, world, note } = call;
  const threadId = given["thread"] ?? "";
  const isForAll = options.flag("all");
  if (isForAll === (given["interrupt"] !== undefined)) {
    throw new UsageError("answer takes the id of what waits, or --all with --approve or --deny <reason>");
  }
  const answer = await answerOf(call);
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "write");
  const state = await checkpointer.load(threadId);
  if (state === undefined) throw missingThread(threadId);
  const approvals = pendingInterrupts(state).filter(({ kind }) => kind === "approval");
  const interruptIds = isForAll ? approvals.map(({ id }) => id) : [given["interrupt"] ?? ""];
  let answered = state;
  for (const id of interruptIds) {
    answered = await answerInterrupt(answered, id, answer, { now: world.now(), tools: new Map() });
  }
  const metadata = await checkpointer.getMetadata(threadId);
  const checkpointId =
    isDry || answered === state
      ? undefined
      : await checkpointer.save(answered, threadId, { ...(metadata !== undefined && { metadata }) });
  await printer.facts(
    [
      ["thread", { id: threadId }],
      ...interruptIds.map((id) => [isDry ? "would answer" : "answered", { id }] as const),
      ["checkpoint", checkpointId === undefined ? undefined : { id: checkpointId }],
    ],
    { threadId, interruptIds, ...(checkpointId !== undefined && { checkpointId }), dryRun: isDry },
  );
  if (printer.isForPeople && !isDry)
    await note("the turn continues when an agent runs the thread: agent.run or agent.recover");
  return EXIT.done;
}

async function answerOf({ given, options, world }: CommandCall): Promise<PersonAnswer> {
  const reason = options.text("deny");
  const { json } = given;
  if (Number(options.flag("approve")) + Number(reason !== undefined) + Number(json !== undefined) !== 1) {
    throw new UsageError("answer needs one of <json>, --approve and --deny <reason>");
  }
  if (options.flag("approve")) return { value: { decision: "approve" } };
  if (reason !== undefined) return { declined: true, reason };
  const text = json === "-" ? await allOf(world.stdin.chunks()) : (json ?? "");
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    throw new UsageError("the answer must be JSON", `text is JSON in quotes: '"window"'`);
  }
}

async function allOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of chunks) {
    bytes += part.byteLength;
    if (bytes > MOST_BYTES) throw new UsageError(`an answer has at most ${MOST_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
