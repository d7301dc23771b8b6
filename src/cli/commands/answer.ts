import { answerInterrupt, type PersonAnswer } from "../../agent/tool-call/interrupts.ts";
import type { CommandCall } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-codes.ts";
import { missingThread } from "../references.ts";

const MOST_BYTES = 1024 * 1024;

/** One save on the condition that the thread is as it was read, with the head's metadata: a query must still find it. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer, world, note } = call;
  const [threadId, interruptId] = [given["thread"] ?? "", given["interrupt"] ?? ""];
  const answer = await answerOf(call);
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "write");
  const state = await checkpointer.load(threadId);
  if (state === undefined) throw missingThread(threadId);
  const answered = await answerInterrupt(state, interruptId, answer, { now: world.now(), tools: new Map() });
  const metadata = await checkpointer.getMetadata(threadId);
  const checkpointId = isDry
    ? undefined
    : await checkpointer.save(answered, threadId, { ...(metadata !== undefined && { metadata }) });
  await printer.facts(
    [
      ["thread", { id: threadId }],
      [isDry ? "would answer" : "answered", { id: interruptId }],
      ["checkpoint", checkpointId === undefined ? undefined : { id: checkpointId }],
    ],
    { threadId, interruptId, ...(checkpointId !== undefined && { checkpointId }), dryRun: isDry },
  );
  if (printer.isForPeople && !isDry)
    await note("the turn goes on when an agent runs the thread: agent.run or agent.recover");
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
