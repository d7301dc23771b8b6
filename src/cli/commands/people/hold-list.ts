import { booksOf, listHolds } from "../../../session/hold-books.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { keptBy } from "../../people/hold-facts.ts";
import { placesOf } from "../../people/places.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, note } = call;
  const all = await listHolds(booksOf(await placesOf(call, "read")));
  const shown = options.flag("all") ? all : all.filter(({ lifted }) => lifted === undefined);
  await printer.list({
    items: shown,
    columns: [
      { title: "hold", cell: ({ id }) => ({ id }) },
      { title: "on", cell: ({ subject, threadPrefix }) => keptBy({ subject, threadPrefix }) },
      { title: "placed by", cell: ({ placedBy }) => placedBy },
      { title: "since", cell: ({ placedAt }) => placedAt },
      { title: "reason", cell: ({ reason }) => reason },
      { title: "lifted", cell: ({ lifted }) => lifted?.at },
    ],
    json: (hold) => hold,
    id: ({ id }) => id,
  });
  for (const { id, missingIn } of shown) {
    if (missingIn.length > 0) await note(`hold ${id} is not in ${missingIn.join(", ")}: place it there, too`);
  }
  return shown.length === 0 && options.flag("exit-code") ? EXIT.no : EXIT.done;
}
