import { type CheckpointContext, contextOf } from "../../../checkpoint/context.ts";
import { Warnings } from "../../../driver/warnings.ts";
import { StateError } from "../../../errors.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { plural } from "../../output/wording.ts";
import { FIRST_LINE, lastLine, linesOf } from "../../transfer/export-file.ts";
import { failuresOf, ownFailure, threadIds } from "../../transfer/moving.ts";
import { Progress } from "../../transfer/progress.ts";
import { threadOf } from "../../transfer/source-thread.ts";

/** To stdout: the file is the data. A thread that fails before its first line is left out and reported. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { world, note } = call;
  const checkpointer = await call.open();
  await checkpointer.connect();
  const context = contextOf(checkpointer) as CheckpointContext;
  const [progress, warnings] = [new Progress(call), new Warnings()];
  let [threads, records, failed] = [0, 0, 0];
  const line = (text: string): Promise<void> => world.stdout.write(`${text}\n`);
  await line(FIRST_LINE);
  for await (const threadId of threadIds(context, call.given["pattern"] ?? "*", warnings)) {
    world.signal.throwIfAborted();
    let isBegun = false;
    const write = async (): Promise<void> => {
      // Proven before its first line is written.
      const [fault] = (await checkpointer.verify(threadId))?.faults ?? [];
      if (fault !== undefined) throw new StateError(fault.code, fault.message, { threadId });
      const source = await threadOf(context, threadId);
      if (source === undefined) return;
      for await (const text of linesOf(source)) {
        isBegun = true;
        await line(text);
      }
      threads++;
      records += source.outline.length;
    };
    const failure = await ownFailure(threadId, write);
    if (failure !== undefined && isBegun) {
      // Half a thread is in the file by now. It gets no end, so that no import takes it.
      throw new StateError(failure.code, `${failure.message}. The file is not whole; export again`, { threadId });
    }
    if (failure !== undefined) {
      failed++;
      await note(`${threadId}  ${failure.code}  ${failure.message}`);
    }
    await progress.show(() => `${plural(threads, "thread")} exported`);
  }
  for (const { threadId, code, message } of failuresOf(warnings)) {
    failed++;
    await note(`${threadId ?? "a thread"}  ${code}  ${message}`);
  }
  await line(lastLine(threads, records));
  await progress.clear();
  await note(`${plural(threads, "thread")}, ${plural(records, "record")} exported`);
  return failed === 0 ? EXIT.done : EXIT.inPart;
}
