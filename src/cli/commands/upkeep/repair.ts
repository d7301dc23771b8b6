import { writeFile } from "node:fs/promises";
import type { Checkpointer } from "../../../checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../../checkpoint/context.ts";
import type { ThreadVerdict } from "../../../checkpoint/history/verifying.ts";
import { Thread } from "../../../checkpoint/thread/thread.ts";
import { StateError } from "../../../errors.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { plural } from "../../output/wording.ts";
import { missingThread } from "../../references.ts";
import { salvageHead, salvageLines } from "../../repair/salvage.ts";

/** Never in place: the damaged thread stays as it is, and what is whole of it becomes another. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options } = call;
  const threadId = given["thread"] ?? "";
  const [target, isDry] = [options.text("to"), options.flag("dry-run")];
  const checkpointer = await call.open(target === undefined || isDry ? "read" : "write");
  const context = contextOf(checkpointer) as CheckpointContext;
  const verdict = await checkpointer.verify(threadId);
  if (verdict === undefined) throw missingThread(threadId);
  if (verdict.faults.length === 0) return reportWhole(call, verdict);
  const intact = await newestIntact(context, checkpointer, verdict);
  if (target !== undefined && intact === undefined) {
    const message =
      "no checkpoint of it can be loaded, so that nothing can be forked; --salvage keeps what single records tell";
    throw new StateError("CORRUPT", message, { threadId });
  }
  if (target !== undefined && (await checkpointer.exists(target))) {
    throw new StateError("CONFLICT", `there is a thread ${JSON.stringify(target)} already`, { threadId: target });
  }
  const salvaged = await salvage(call, context, verdict);
  if (target !== undefined && !isDry) {
    // What was open there may have been carried out in what was lost since: nothing of it is run again.
    await checkpointer.fork(threadId, target, { at: intact ?? "", openCalls: "settle" });
  }
  await report(call, verdict, intact, salvaged);
  if (target === undefined) return EXIT.corrupt;
  await call.note(
    "what happened after that checkpoint is not in the new thread; check it before an agent continues. holdfast delete removes the damaged one",
  );
  return EXIT.done;
}

/** The newest that can really be loaded: what the records say is tried. */
async function newestIntact(
  context: CheckpointContext,
  checkpointer: Checkpointer,
  { threadId, lost }: ThreadVerdict,
): Promise<string | undefined> {
  const isLost = new Set(lost);
  for await (const { checkpointId } of new Thread(context, threadId, "verify").entries()) {
    if (checkpointId === undefined || isLost.has(checkpointId)) continue;
    try {
      if ((await checkpointer.load(threadId, { checkpointId })) !== undefined) return checkpointId;
    } catch (error) {
      if (!StateError.is(error, "CORRUPT") && !StateError.is(error, "INCOMPATIBLE")) throw error;
    }
  }
  return undefined;
}

/** Writes the file, and never over one that is there. Returns how many records are in it. */
async function salvage(
  call: CommandCall,
  context: CheckpointContext,
  verdict: ThreadVerdict,
): Promise<number | undefined> {
  const path = call.options.text("salvage");
  if (path === undefined) return undefined;
  const { threadId, faults } = verdict;
  const lines = await salvageLines(context, threadId, faults[0]?.seq ?? 1);
  if (call.options.flag("dry-run")) return lines.length;
  try {
    await writeFile(path, [salvageHead(threadId), ...lines, ""].join("\n"), { flag: "wx", mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "is there already" : `cannot be written (${code ?? "no reason was given"})`;
    throw new UsageError(`the file ${JSON.stringify(path)} ${why}`);
  }
  return lines.length;
}

async function reportWhole({ printer }: CommandCall, { threadId, records }: ThreadVerdict): Promise<ExitCode> {
  await printer.facts(
    [
      ["thread", { id: threadId }],
      ["proven", `${plural(records, "record")}; nothing to repair`],
    ],
    { threadId, records, faults: [], lost: [] },
  );
  return EXIT.done;
}

async function report(
  { printer, options }: CommandCall,
  { threadId, records, faults, lost }: ThreadVerdict,
  intact: string | undefined,
  salvaged: number | undefined,
): Promise<void> {
  const [target, isDry] = [options.text("to"), options.flag("dry-run")];
  await printer.facts(
    [
      ["thread", { id: threadId }],
      ["read", plural(records, "record")],
      ...faults.map(({ seq, message }) => ["damaged", `record ${seq}: ${message}`] as const),
      ["lost", plural(lost.length, "checkpoint")],
      ["newest that loads", intact === undefined ? "there is no such checkpoint" : { id: intact }],
      [isDry ? "would become" : "became", target === undefined ? undefined : { id: target }],
      [isDry ? "would salvage" : "salvaged", salvaged === undefined ? undefined : plural(salvaged, "record")],
    ],
    { threadId, records, faults, lost, newestIntact: intact ?? null, to: target, salvaged, dryRun: isDry },
  );
}
