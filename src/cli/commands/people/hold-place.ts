import { booksOf, placeHold } from "../../../session/hold-books.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { plural } from "../../output/wording.ts";
import { holdFacts } from "../../people/hold-facts.ts";
import { placesOf } from "../../people/places.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, world } = call;
  const [subject, threadPrefix] = [options.text("subject"), options.text("threads")];
  const [reason, by] = [options.text("reason"), options.text("by")];
  if ((subject === undefined) === (threadPrefix === undefined)) {
    throw new UsageError("hold place takes --subject <person> or --threads <prefix>: one of the two");
  }
  if (reason === undefined || by === undefined) throw new UsageError("hold place needs --reason and --by");
  const which = subject === undefined ? { threadPrefix: threadPrefix ?? "" } : { subject };
  const isDry = options.flag("dry-run");
  const books = booksOf(await placesOf(call, isDry ? "read" : "write"));
  if (isDry) {
    // Checked as the real one is, and written nowhere.
    const { id: _, ...hold } = await placeHold([], { ...which, reason, by }, world.now());
    const facts = holdFacts({ ...hold, id: "" }).filter(([name]) => name !== "hold");
    await printer.facts([...facts, ["would be placed in", plural(books.length, "backend")]], { ...hold, dryRun: true });
    return EXIT.done;
  }
  const hold = await placeHold(books, { ...which, reason, by }, world.now());
  await printer.facts(holdFacts(hold), hold);
  return EXIT.done;
}
