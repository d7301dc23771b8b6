import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { itemListing, namespaceOf } from "../../item-listing.ts";
import { Walk } from "../../paging.ts";

/** By words: what is meant and not said needs the program's own embedder. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, rest, options, printer } = call;
  const store = await call.openItems();
  const namespace = namespaceOf(given["namespace"] ?? "");
  const query = rest.join(" ");
  const walk = new Walk(call, (place) => store.search(namespace, { ...place, query, mode: "text" }));
  const found = await printer.list(itemListing(walk.items(), () => walk.cursor));
  await walk.report();
  return found === 0 && options.flag("exit-code") ? EXIT.no : EXIT.done;
}
