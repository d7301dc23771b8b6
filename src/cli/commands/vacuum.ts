import type { CommandCall } from "../command.ts";
import { confirm } from "../confirming.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-codes.ts";
import { plural } from "../output/wording.ts";

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
  if (!isDry && !options.flag("yes")) {
    const plan = await (await call.open("read")).vacuum({ ...rule, dryRun: true });
    const what = `${plural(plan.checkpoints, "checkpoint")} (with all of ${plural(plan.threads, "thread")})`;
    await confirm(call, `this removes ${what}; type ${plan.checkpoints} to go on`, String(plan.checkpoints));
  }
  const report = await (await call.open(isDry ? "read" : "write")).vacuum({ ...rule, dryRun: isDry });
  await printer.facts(
    [
      [isDry ? "would remove" : "removed", plural(report.checkpoints, "checkpoint")],
      ["whole threads", report.threads],
      ["left as they were", report.skipped === 0 ? undefined : report.skipped],
    ],
    report,
  );
  for (const { threadId, code, message } of report.warnings) await note(`holdfast: ${threadId}: ${code}: ${message}`);
  return report.skipped === 0 ? EXIT.done : EXIT.inPart;
}
