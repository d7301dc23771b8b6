import { StateError } from "../../../errors.ts";
import { booksOf, liftHold, listHolds } from "../../../session/hold-books.ts";
import { type CommandCall, confirm } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { holdFacts } from "../../people/hold-facts.ts";
import { placesOf } from "../../people/places.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer, world } = call;
  const id = given["hold"] ?? "";
  const [reason, by] = [options.text("reason"), options.text("by")];
  if (reason === undefined || by === undefined) throw new UsageError("hold lift needs --reason and --by");
  const isDry = options.flag("dry-run");
  const books = booksOf(await placesOf(call, isDry ? "read" : "write"));
  const hold = (await listHolds(books)).find((each) => each.id === id);
  if (hold === undefined)
    throw new StateError("NOT_FOUND", `there is no hold ${JSON.stringify(id)}; hold list shows them`);
  if (isDry) {
    await printer.facts([...holdFacts(hold), ["would be lifted", hold.lifted === undefined ? "yes" : "no"]], hold);
    return EXIT.done;
  }
  const question = `what hold ${id} keeps (${hold.reason}) may then be erased and deleted; type the hold's id to go on`;
  await confirm(call, question, id);
  const lifted = await liftHold(books, id, { reason, by }, world.now());
  await printer.facts(holdFacts(lifted), lifted);
  return EXIT.done;
}
