import { contextOf } from "../../../checkpoint/context.ts";
import type { ThreadVerdict } from "../../../checkpoint/history/verifying.ts";
import { Warnings } from "../../../driver/warnings.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { plural } from "../../output/wording.ts";
import { threadIds } from "../../transfer/moving.ts";
import { Progress } from "../../transfer/progress.ts";

interface Finding {
  readonly threadId: string;
  readonly seq?: number;
  readonly code: string;
  readonly message: string;
  /** How many checkpoints of the thread cannot be loaded. */
  readonly lost?: number;
}

/** Lists what is damaged, and nothing where all is well. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { printer, note } = call;
  const walked = { threads: 0, records: 0, unreadable: 0 };
  const progress = new Progress(call);
  const listed = await printer.list({
    items: findings(call, walked, progress),
    columns: [
      { title: "thread", cell: ({ threadId }) => ({ id: threadId }) },
      { title: "record", cell: ({ seq }) => seq, align: "right" },
      { title: "code", cell: ({ code }) => code },
      { title: "lost checkpoints", cell: ({ lost }) => lost, align: "right" },
      { title: "what", cell: ({ message }) => message },
    ],
    json: (finding) => finding,
    id: ({ threadId }) => threadId,
  });
  await progress.clear();
  const { unreadable } = walked;
  const damages = listed - unreadable;
  const found = damages === 0 ? "no damage" : plural(damages, "damage");
  const rest = unreadable === 0 ? "" : `, and ${unreadable} that cannot be read from here`;
  await note(`${plural(walked.threads, "thread")}, ${plural(walked.records, "record")} proven: ${found}${rest}`);
  if (damages > 0) return EXIT.corrupt;
  return unreadable === 0 ? EXIT.done : EXIT.inPart;
}

async function* findings(
  call: CommandCall,
  walked: { threads: number; records: number; unreadable: number },
  progress: Progress,
): AsyncGenerator<Finding> {
  const checkpointer = await call.open();
  const context = contextOf(checkpointer);
  if (context === undefined) return;
  const warnings = new Warnings();
  for await (const threadId of threadIds(context, call.given["pattern"] ?? "*", warnings)) {
    call.world.signal.throwIfAborted();
    const verdict = await warnings.skipping(threadId, () => checkpointer.verify(threadId));
    if (verdict === undefined) continue;
    walked.threads++;
    walked.records += verdict.records;
    walked.unreadable += verdict.faults.filter(({ code }) => code === "INCOMPATIBLE").length;
    yield* findingsIn(verdict);
    await progress.show(() => `${plural(walked.threads, "thread")} proven`);
  }
  for (const { threadId = "", code, message } of warnings.list) {
    if (code === "INCOMPATIBLE") walked.unreadable++;
    yield { threadId, code, message };
  }
}

const findingsIn = ({ threadId, faults, lost }: ThreadVerdict): readonly Finding[] =>
  faults.map((fault) => ({ threadId, ...fault, lost: lost.length }));
