import { answerPending } from "../../../agent/tool-call/answering.ts";
import type { Answer } from "../../../checkpoint/signals/signal.ts";
import { pendingIn } from "../../../state/pending.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { missingThread } from "../../references.ts";

const MOST_BYTES = 1024 * 1024;

/** Sent as a signal: a run that is under way takes it in, and is not overwritten. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer, note } = call;
  const threadId = given["thread"] ?? "";
  const isForAll = options.flag("all");
  if (isForAll === (given["id"] !== undefined)) {
    throw new UsageError("answer takes the id of what waits, or --all with --approve or --deny <reason>");
  }
  const answer = await answerOf(call);
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "write");
  let ids = [given["id"] ?? ""];
  if (isForAll) {
    const state = await checkpointer.load(threadId);
    if (state === undefined) throw missingThread(threadId);
    ids = pendingIn(state).flatMap(({ id, kind }) => (kind === "approval" ? [id] : []));
  }
  const answers = ids.map((id): Answer => ({ id, ...answer }));
  if (answers.length > 0) await answerPending(checkpointer, threadId, answers, { dryRun: isDry });
  await printer.facts(
    [["thread", { id: threadId }], ...ids.map((id) => [isDry ? "would answer" : "answered", { id }] as const)],
    { threadId, ids, dryRun: isDry },
  );
  if (printer.isForPeople && !isDry)
    await note("the turn continues when an agent runs the thread (agent.run or agent.recover), or a graph is invoked");
  return EXIT.done;
}

type Given = { readonly response: unknown } | { readonly decline: string };

async function answerOf({ given, options, world }: CommandCall): Promise<Given & { readonly by?: string }> {
  const [reason, by] = [options.text("deny"), options.text("by")];
  const { json } = given;
  if (Number(options.flag("approve")) + Number(reason !== undefined) + Number(json !== undefined) !== 1) {
    throw new UsageError("answer needs one of <json>, --approve and --deny <reason>");
  }
  const who = by === undefined ? {} : { by };
  if (options.flag("approve")) return { response: { decision: "approve" }, ...who };
  if (reason !== undefined) return { decline: reason, ...who };
  const text = json === "-" ? await allOf(world.stdin.chunks()) : (json ?? "");
  try {
    return { response: JSON.parse(text) as unknown, ...who };
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
