import type { Checkpointer } from "../../../checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../../checkpoint/context.ts";
import { Warnings } from "../../../driver/warnings.ts";
import { StateError } from "../../../errors.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { plural, sizeText } from "../../output/wording.ts";
import { withoutSecrets } from "../../store-url.ts";
import { bandwidthOf, limiterOf } from "../../transfer/bandwidth.ts";
import { type CopyRule, copyThread } from "../../transfer/copy-thread.ts";
import { copyFromLangGraph, isLangGraphs } from "../../transfer/from-langgraph.ts";
import { inJobs } from "../../transfer/jobs.ts";
import { failuresOf, ownFailure, type ThreadFailure, threadIds } from "../../transfer/moving.ts";
import type { OnConflict, Placed } from "../../transfer/placing.ts";
import { Progress } from "../../transfer/progress.ts";
import { Counting, progressLine } from "../../transfer/progress-bar.ts";

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
  const rule = ruleOf(call);
  const { isDry } = rule;
  const [from, to] = await bothEnds(call, rule);
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
  const source = contextOf(from) as CheckpointContext;
  const pattern = given["pattern"] ?? "*";
  const counting = progress.isOnTerminal ? new Counting(threadIds(source, pattern, new Warnings())) : undefined;
  const begun = world.now();
  const line = (): string =>
    progressLine(isDry ? "looking at" : "copying", {
      done: totals.threads,
      total: counting?.total,
      bytes: totals.bytes,
      elapsedMs: world.now() - begun,
    });
  try {
    const ids = threadIds(source, pattern, warnings);
    await inJobs(ids, options.count("jobs", 1, 1, 64), async (threadId) => {
      world.signal.throwIfAborted();
      totals.threads++;
      const failure = await ownFailure(threadId, async () => {
        const copied = await copyThread(from, to, threadId, rule);
        if (copied === undefined) return;
        count(totals, copied);
        if (copied.isVerified) totals.verified++;
      });
      if (failure !== undefined) await failed(failure);
      await progress.show(line);
    });
  } finally {
    await counting?.end();
    await progress.clear();
    if (world.signal.aborted)
      await note("stopped; run the same command again to go on where it stopped").catch(() => undefined);
  }
  for (const failure of failuresOf(warnings)) await failed(failure);
  await report(call, totals, isDry);
  return totals.failed === 0 ? EXIT.done : EXIT.inPart;
}

function ruleOf({ options, stores, world }: CommandCall): CopyRule {
  const verify = options.text("verify") ?? "full";
  const cutsOver = options.flag("cut-over");
  if (cutsOver && verify !== "full") throw new UsageError("--cut-over compares every thread; leave --verify out");
  return {
    onConflict: (options.text("on-conflict") ?? "fail") as OnConflict,
    verify,
    isDry: options.flag("dry-run"),
    freezes: options.flag("freeze"),
    cutOverTo: cutsOver ? withoutSecrets(stores[1] ?? "") : undefined,
    signal: world.signal,
    took: limiterOf(bandwidthOf(options.text("bwlimit")), world.now, world.signal),
  };
}

/** A target that is not there yet is made, but not by a dry run. The source is written to only where that is asked for. */
async function bothEnds(
  call: CommandCall,
  { isDry, freezes, cutOverTo }: CopyRule,
): Promise<readonly [Checkpointer, CheckpointContext | undefined]> {
  const source = await call.open(!isDry && (freezes || cutOverTo !== undefined) ? "write" : "read", 0);
  await source.connect();
  const target = await call.open(isDry ? "read" : "create", 1);
  try {
    await target.connect();
  } catch (error) {
    if (isDry && StateError.is(error, "NOT_FOUND")) return [source, undefined];
    throw error;
  }
  return [source, contextOf(target) as CheckpointContext];
}

function count(totals: Totals, { outcome, records, bytes }: Placed): void {
  if (outcome === "copied") totals.copied++;
  else if (outcome === "skipped") totals.skipped++;
  else totals.thereAlready++;
  totals.records += records;
  totals.bytes += bytes;
}

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
