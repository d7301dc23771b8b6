import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { countText, sizeText } from "../../output/wording.ts";
import { Walk } from "../../paging.ts";
import { missingThread } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { thread } = call.given;
  await (thread === undefined ? storeStats(call) : threadStats(call, thread));
  return EXIT.done;
}

async function threadStats(call: CommandCall, threadId: string): Promise<void> {
  const stats = await (await call.open()).stats(threadId);
  if (stats === undefined) throw missingThread(threadId);
  const { checkpoints, messages, bytes, loadBytes, loadRecords, firstAt, lastAt } = stats;
  const size = (value: number): string | number => (call.printer.isForPeople ? sizeText(value) : value);
  await call.printer.facts(
    [
      ["thread", { id: threadId }],
      ["checkpoints", checkpoints],
      ["messages", messages],
      ["bytes", size(bytes)],
      ["loadBytes", size(loadBytes)],
      ["loadRecords", loadRecords],
      ["firstAt", firstAt],
      ["lastAt", lastAt],
    ],
    { threadId, ...stats },
  );
}

/** From the newest checkpoint of each thread: no state is read. */
async function storeStats(call: CommandCall): Promise<void> {
  const checkpointer = await call.open();
  const totals = { threads: 0, messages: 0, waiting: 0, inDoubt: 0, unfinished: 0, damaged: 0 };
  const walk = new Walk(call, (place) => checkpointer.listWithMetadata(place));
  for await (const { messageCount = 0, standing, createdAt } of walk.items(true)) {
    totals.threads++;
    totals.messages += messageCount;
    if (standing?.waiting !== undefined) totals.waiting++;
    if (standing?.inDoubt !== undefined) totals.inDoubt++;
    if (standing?.unfinished === true) totals.unfinished++;
    if (createdAt === undefined) totals.damaged++;
  }
  const shown = (value: number): string | number => (call.printer.isForPeople ? countText(value) : value);
  await call.printer.facts(
    Object.entries(totals).map(([name, value]) => [name, shown(value)] as const),
    totals,
  );
  await walk.report();
}
