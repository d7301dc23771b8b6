import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type CheckpointContext, contextOf } from "../../../checkpoint/context.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { plural } from "../../output/wording.ts";
import { assertSame } from "../../transfer/comparing.ts";
import { threadsIn } from "../../transfer/export-file.ts";
import { ownFailure } from "../../transfer/moving.ts";
import { type OnConflict, placeThread } from "../../transfer/placing.ts";
import { Progress } from "../../transfer/progress.ts";

/** Reads the file twice: to its end before anything is written, so that a damaged one changes nothing. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given } = call;
  const file = given["file"] ?? "";
  if (file !== "-") return importFile(call, file);
  const directory = await mkdtemp(join(tmpdir(), "holdfast-import-"));
  try {
    const kept = join(directory, "import.ndjson");
    await pipeline(call.world.stdin.chunks(), createWriteStream(kept, { mode: 0o600 }));
    return await importFile(call, kept);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function importFile(call: CommandCall, file: string): Promise<ExitCode> {
  const { options, printer, note, world } = call;
  const totals = { threads: 0, imported: 0, thereAlready: 0, skipped: 0, records: 0, failed: 0 };
  for await (const { outline } of threadsIn(linesIn(file))) {
    totals.threads++;
    totals.records += outline.length;
  }
  const dryRun = options.flag("dry-run");
  if (!dryRun) {
    const target = await call.open("create");
    await target.connect();
    const context = contextOf(target) as CheckpointContext;
    const progress = new Progress(call);
    const onConflict = (options.text("on-conflict") ?? "fail") as OnConflict;
    totals.records = 0;
    for await (const source of threadsIn(linesIn(file))) {
      world.signal.throwIfAborted();
      const failure = await ownFailure(source.threadId, async () => {
        const { outcome, records } = await placeThread(context, source, onConflict, world.signal);
        totals[outcome === "copied" ? "imported" : outcome === "skipped" ? "skipped" : "thereAlready"]++;
        totals.records += records;
        if (outcome !== "skipped") await assertSame(context, source);
      });
      if (failure !== undefined) {
        totals.failed++;
        await note(`${source.threadId}  ${failure.code}  ${failure.message}`);
      }
      await progress.show(() => `${plural(totals.imported, "thread")} imported`);
    }
    await progress.clear();
  }
  await printer.facts(
    [
      ["threads", totals.threads],
      [
        dryRun ? "would import" : "imported",
        `${plural(dryRun ? totals.threads : totals.imported, "thread")}, ${plural(totals.records, "record")}`,
      ],
      ["there already", dryRun ? undefined : totals.thereAlready],
      ["skipped", totals.skipped === 0 ? undefined : totals.skipped],
      ["not imported", totals.failed],
    ],
    { ...totals, dryRun },
  );
  return totals.failed === 0 ? EXIT.done : EXIT.inPart;
}

/** Split at line feeds alone: JSON may hold every other character that some call the end of a line. */
async function* linesIn(file: string): AsyncGenerator<string> {
  const begun: Uint8Array[] = [];
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
        yield Buffer.concat([...begun, chunk.subarray(start, end)]).toString("utf8");
        begun.length = 0;
        start = end + 1;
      }
      if (start < chunk.byteLength) begun.push(chunk.subarray(start));
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined || !["ENOENT", "EACCES", "EISDIR"].includes(code)) throw error;
    throw new UsageError(`the file ${JSON.stringify(file)} cannot be read (${code})`);
  }
  if (begun.length > 0) yield Buffer.concat(begun).toString("utf8");
}

const LINE_FEED = 0x0a;
