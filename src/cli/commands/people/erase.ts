import { writeFile } from "node:fs/promises";
import type { ErasureReceipt, ErasureReport } from "../../../session/receipts.ts";
import { PersonalData } from "../../../wiring/personal-data.ts";
import { type CommandCall, confirm } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import type { Cell } from "../../output/printer.ts";
import { plural } from "../../output/wording.ts";
import { ledgerOf } from "../../people/ledger.ts";
import { placesOf } from "../../people/places.ts";
import { secretKey } from "../../people/secret-key.ts";
import { forLooking } from "./inventory.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, note } = call;
  const userId = given["user"] ?? "";
  const process = options.flag("keep-process") ? ("keep" as const) : ("erase" as const);
  if (options.flag("dry-run")) {
    const plan = await (await forLooking(call)).eraseUser(userId, { dryRun: true, process });
    await report(call, plan, undefined);
    return EXIT.done;
  }
  const key = await secretKey(call);
  const ledger = ledgerOf(call);
  const plan = await (await forLooking(call)).eraseUser(userId, { dryRun: true, process });
  await confirm(call, `this erases ${foundText(plan)}; type the person's id to go on`, userId);
  const places = await placesOf(call, "write");
  const data = new PersonalData({ ...places, ledger, key, now: call.world.now });
  try {
    const reason = options.text("reason");
    const receipt = await data.eraseUser(userId, {
      process,
      acceptUnreached: options.flag("accept-unreached"),
      acceptHeld: options.flag("accept-held"),
      ...(reason !== undefined && { reason }),
    });
    await keepReceipt(call, receipt);
    await report(call, receipt, data.publicKey);
    if (!receipt.verified)
      await note("something could not be reached, or is under a legal hold; the receipt says what");
    return receipt.verified ? EXIT.done : EXIT.inPart;
  } finally {
    await data.close();
  }
}

async function keepReceipt({ options }: CommandCall, receipt: ErasureReceipt): Promise<void> {
  const file = options.text("receipt");
  // The ledger has it, too: a file that cannot be written loses nothing.
  if (file !== undefined) await writeFile(file, `${JSON.stringify(receipt)}\n`, { flag: "a", mode: 0o600 });
}

const foundText = ({ places }: ErasureReport): string => {
  const sum = (count: (place: ErasureReport["places"][number]) => number): number =>
    places.reduce((total, place) => total + count(place), 0);
  const [messages, fields, items] = [
    sum((each) => each.messages),
    sum((each) => each.fields),
    sum((each) => each.items),
  ];
  return `${plural(messages, "message")}, ${plural(fields, "field")} and ${plural(items, "item")}`;
};

async function report({ printer }: CommandCall, found: ErasureReport, publicKey: string | undefined): Promise<void> {
  const { dryRun, places, unreached, held } = found;
  const facts: (readonly [string, Cell])[] = [
    [dryRun ? "would erase" : "erased", foundText(found)],
    ...places.flatMap(({ backend, cleaned, remains }) => [
      ...cleaned.map((text) => ["cleaned", `${backend}: ${text}`] as const),
      ...remains.map((text) => ["remains", `${backend}: ${text}`] as const),
    ]),
    ...held.map(({ backend, count, id, placedBy, reason }) => {
      return ["held", `${backend}: ${count} by hold ${id}, placed by ${placedBy}: ${reason}`] as const;
    }),
    ...unreached.map(({ where, why }) => ["not reached", `${where}: ${why}`] as const),
    ["receipt", "number" in found ? String(found.number) : undefined],
  ];
  await printer.facts(facts, { ...found, ...(publicKey !== undefined && { publicKey }) });
}
