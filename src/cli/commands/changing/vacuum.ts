import type { VacuumOptions, VacuumPlanEntry } from "../../../checkpoint/base-checkpointer.ts";
import { type CommandCall, confirm } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { plural, warningText } from "../../output/wording.ts";

const DAY_MS = 86_400_000;

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, note } = call;
  const age = options.duration("older-than");
  const rule = {
    ...(age !== undefined && { olderThanDays: age / DAY_MS }),
    ...(options.text("keep-last") !== undefined && { keepLast: options.count("keep-last", 1, 1, 1_000_000) }),
  };
  if (Object.keys(rule).length === 0) throw new UsageError("vacuum needs --older-than or --keep-last: say what may go");
  const isDry = options.flag("dry-run");
  if (isDry) return showPlan(call, rule);
  if (!isDry && !options.flag("yes")) {
    const plan = await (await call.open("read")).vacuum({ ...rule, dryRun: true });
    const what = `${plural(plan.checkpoints, "checkpoint")} (with all of ${plural(plan.threads, "thread")})`;
    await confirm(call, `this removes ${what}; type ${plan.checkpoints} to go on`, String(plan.checkpoints));
  }
  const report = await (await call.open("write")).vacuum(rule);
  await printer.facts(
    [
      ["removed", plural(report.checkpoints, "checkpoint")],
      ["whole threads", report.threads],
      ["left as they were", report.skipped === 0 ? undefined : report.skipped],
    ],
    report,
  );
  for (const warning of report.warnings) await note(warningText(warning));
  return report.skipped === 0 ? EXIT.done : EXIT.inPart;
}

/** Thread by thread, as it is found: a store of any size is shown at once. */
async function showPlan(call: CommandCall, rule: VacuumOptions): Promise<ExitCode> {
  const { printer, note, world } = call;
  const total = { checkpoints: 0, threads: 0, skipped: 0 };
  const checkpointer = await call.open("read");
  const entries = async function* (): AsyncGenerator<VacuumPlanEntry> {
    for await (const entry of checkpointer.vacuumPlan(rule)) {
      world.signal.throwIfAborted();
      if (entry.skipped === undefined) yield entry;
      else {
        total.skipped++;
        await note(warningText(entry.skipped));
      }
      total.checkpoints += entry.checkpoints;
      if (entry.isWhole) total.threads++;
    }
  };
  await printer.list({
    items: entries(),
    columns: [
      { title: "thread", cell: ({ threadId }) => ({ id: threadId }) },
      { title: "checkpoints", cell: ({ checkpoints }) => checkpoints, align: "right" },
      { title: "what", cell: ({ isWhole }) => (isWhole ? "the whole thread" : "the oldest") },
    ],
    json: (entry) => entry,
    id: ({ threadId }) => threadId,
  });
  await note(
    `would remove ${plural(total.checkpoints, "checkpoint")} (with all of ${plural(total.threads, "thread")})`,
  );
  return total.skipped === 0 ? EXIT.done : EXIT.inPart;
}
