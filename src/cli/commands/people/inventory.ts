import { randomBytes } from "node:crypto";
import { PersonalData } from "../../../wiring/personal-data.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { plural } from "../../output/wording.ts";
import { placesOf } from "../../people/places.ts";

/** Looking needs neither a ledger nor a key: nothing is erased, and nothing signed. */
export const forLooking = async (call: CommandCall): Promise<PersonalData> =>
  new PersonalData({ ...(await placesOf(call, "read")), ledger: "memory:", key: randomBytes(32) });

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, printer, note, options } = call;
  const { total, places, unreached } = await (await forLooking(call)).inventory(given["user"] ?? "");
  await printer.list({
    items: places,
    columns: [
      { title: "backend", cell: ({ backend }) => backend },
      { title: "kind", cell: ({ kind }) => kind },
      { title: "where", cell: ({ where }) => ({ id: where }) },
      { title: "count", cell: ({ count }) => count, align: "right" },
    ],
    json: (place) => place,
    id: ({ where }) => where,
  });
  for (const { where, why } of unreached) await note(`not looked at: ${where}: ${why}`);
  await note(`${plural(total, "finding")} in ${plural(places.length, "place")}`);
  if (unreached.length > 0) return EXIT.inPart;
  return total === 0 && options.flag("exit-code") ? EXIT.no : EXIT.done;
}
