import { createHash } from "node:crypto";
import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import type { CommandCall } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { plural, sizeText } from "../output/wording.ts";
import { assertSame } from "../transfer/comparing.ts";
import { copyFromLangGraph, isLangGraphs } from "../transfer/from-langgraph.ts";
import { failuresOf, ownFailure, type ThreadFailure, threadIds } from "../transfer/moving.ts";
import { assertFits, isPartOf, type OnConflict, type Placed, placeThread } from "../transfer/placing.ts";
import { Progress } from "../transfer/progress.ts";
import { type SourceThread, threadOf } from "../transfer/source-thread.ts";

interface Totals {
  threads: number;
  copied: number;
  thereAlready: number;
  skipped: number;
  records: number;
  bytes: number;
  verified: number;
  failed: number;
}

export async function run(call: CommandCall): Promise<ExitCode> {
  if (isLangGraphs(call.stores[0] ?? "")) return copyFromLangGraph(call);
  const { given, options, note, world } = call;
  const isDry = options.flag("dry-run");
  const [from, to] = await bothEnds(call, isDry);
  const onConflict = (options.text("on-conflict") ?? "fail") as OnConflict;
  const verify = options.text("verify") ?? "full";
  const totals: Totals = {
    threads: 0,
    copied: 0,
    thereAlready: 0,
    skipped: 0,
    records: 0,
    bytes: 0,
    verified: 0,
    failed: 0,
  };
  const progress = new Progress(call);
  const warnings = new Warnings();
  const failed = async ({ threadId, code, message }: ThreadFailure): Promise<void> => {
    totals.failed++;
    await progress.clear();
    await note(`${threadId ?? "a thread"}  ${code}  ${message}`);
  };
  try {
    for await (const threadId of threadIds(from, given["pattern"] ?? "*", warnings)) {
      world.signal.throwIfAborted();
      totals.threads++;
      const failure = await ownFailure(threadId, async () => {
        const source = await threadOf(from, threadId);
        // Deleted while it was listed.
        if (source === undefined) return;
        const placed = isDry
          ? await planned(to, source)
          : await placeThread(to as CheckpointContext, source, onConflict, world.signal);
        count(totals, placed);
        if (to === undefined || isDry || placed.outcome === "skipped" || !isWanted(verify, placed, threadId)) return;
        await assertSame(to, source);
        totals.verified++;
      });
      if (failure !== undefined) await failed(failure);
      await progress.show(() => `${plural(totals.threads, "thread")}, ${sizeText(totals.bytes)} copied`);
    }
  } finally {
    await progress.clear();
    if (world.signal.aborted)
      await note("stopped; run the same command again to go on where it stopped").catch(() => undefined);
  }
  for (const failure of failuresOf(warnings)) await failed(failure);
  await report(call, totals, isDry);
  return totals.failed === 0 ? EXIT.done : EXIT.inPart;
}

/** A target that is not there yet is made, but not by a dry run. */
async function bothEnds(
  call: CommandCall,
  isDry: boolean,
): Promise<readonly [CheckpointContext, CheckpointContext | undefined]> {
  const source = await call.open("read", 0);
  await source.connect();
  const target = await call.open(isDry ? "read" : "create", 1);
  const from = contextOf(source) as CheckpointContext;
  try {
    await target.connect();
  } catch (error) {
    if (isDry && StateError.is(error, "NOT_FOUND")) return [from, undefined];
    throw error;
  }
  return [from, contextOf(target) as CheckpointContext];
}

async function planned(to: CheckpointContext | undefined, source: SourceThread): Promise<Placed> {
  const { threadId, outline } = source;
  const tail = await to?.call({ operation: "copy", threadId }, (log) => log.tail(threadId));
  if (to !== undefined && tail !== undefined && !(await isPartOf(to, source, tail))) {
    throw new StateError("CONFLICT", "the target has another thread of this id", { threadId });
  }
  if (to !== undefined) assertFits(to, source);
  const rest = outline.slice(tail?.entry.seq ?? 0);
  const bytes = rest.reduce((sum, record) => sum + record.bytes, 0);
  return { outcome: rest.length === 0 ? "there already" : "copied", records: rest.length, bytes };
}

function count(totals: Totals, { outcome, records, bytes }: Placed): void {
  if (outcome === "copied") totals.copied++;
  else if (outcome === "skipped") totals.skipped++;
  else totals.thereAlready++;
  totals.records += records;
  totals.bytes += bytes;
}

/** A sample is the same tenth of the threads every time. */
const isWanted = (verify: string, { outcome }: Placed, threadId: string): boolean =>
  verify === "full" ||
  (verify === "copied" && outcome === "copied") ||
  (verify === "sample" && (createHash("sha256").update(threadId).digest()[0] ?? 0) < 26);

async function report({ printer }: CommandCall, totals: Totals, dryRun: boolean): Promise<void> {
  const { threads, copied, thereAlready, skipped, records, bytes, verified, failed } = totals;
  await printer.facts(
    [
      ["threads", threads],
      [
        dryRun ? "would copy" : "copied",
        `${plural(copied, "thread")}, ${plural(records, "record")}, ${sizeText(bytes)}`,
      ],
      ["there already", thereAlready],
      ["skipped", skipped === 0 ? undefined : skipped],
      ["verified", dryRun ? undefined : verified],
      ["not copied", failed],
    ],
    { ...totals, dryRun },
  );
}
