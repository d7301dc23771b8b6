import type { RetentionReport } from "../../../session/retention.ts";
import type { RetentionRule } from "../../../session/retention-rules.ts";
import { PersonalData } from "../../../wiring/personal-data.ts";
import { type CommandCall, confirm } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { plural, warningText } from "../../output/wording.ts";
import { ledgerOf } from "../../people/ledger.ts";
import { placesOf } from "../../people/places.ts";
import { secretKey } from "../../people/secret-key.ts";
import { fileText } from "../../store-url.ts";
import { forLooking } from "./inventory.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options } = call;
  const rules = await rulesOf(call);
  const isDry = options.flag("dry-run");
  const [key, ledger] = isDry ? ["", ""] : [await secretKey(call), ledgerOf(call)];
  const plan = await (await forLooking(call)).applyRetention({ rules, dryRun: true });
  if (isDry) return show(call, plan);
  await confirm(call, `this removes ${wordsOf(plan)}; type "remove" to go on`, "remove");
  const places = await placesOf(call, "write");
  const data = new PersonalData({ ...places, ledger, key, now: call.world.now });
  try {
    const reason = options.text("reason");
    return await show(call, await data.applyRetention({ rules, ...(reason !== undefined && { reason }) }));
  } finally {
    await data.close();
  }
}

async function rulesOf({ options }: CommandCall): Promise<readonly RetentionRule[]> {
  const file = options.text("rules");
  if (file === undefined)
    throw new UsageError("retention needs --rules <file>", "a JSON list of rules, as docs/retention.md tells");
  try {
    return JSON.parse(await fileText(file)) as readonly RetentionRule[];
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError("the file of the rules is not JSON");
    throw error;
  }
}

const wordsOf = ({ totals }: RetentionReport): string => {
  const sum = (name: "checkpoints" | "threads" | "items"): number => totals.reduce((all, each) => all + each[name], 0);
  return `${plural(sum("checkpoints"), "checkpoint")} (with all of ${plural(sum("threads"), "thread")}) and ${plural(sum("items"), "item")}`;
};

async function show({ printer, note }: CommandCall, report: RetentionReport): Promise<ExitCode> {
  const { dryRun, entries, unlisted, held, warnings, skipped } = report;
  if (printer.format === "json" || printer.format === "ndjson") await printer.document(report);
  else {
    await printer.list({
      items: entries,
      columns: [
        { title: "where", cell: ({ where }) => ({ id: where }) },
        { title: "what", cell: ({ kind }) => kind },
        { title: "count", cell: ({ count }) => count, align: "right" },
        { title: "rule", cell: ({ rule }) => rule, align: "right" },
        { title: "why", cell: ({ why }) => why },
      ],
      json: (entry) => entry,
      id: ({ where }) => where,
    });
  }
  if (unlisted > 0) await note(`and ${unlisted} more`);
  for (const { backend, count, id, placedBy, reason } of held) {
    await note(`${backend}: ${count} kept by hold ${id}, placed by ${placedBy}: ${reason}`);
  }
  for (const warning of warnings) await note(warningText(warning));
  await note(`${dryRun ? "would remove" : "removed"} ${wordsOf(report)}`);
  return skipped === 0 && held.length === 0 ? EXIT.done : EXIT.inPart;
}
