import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { itemListing, namespaceOf } from "../../item-listing.ts";
import { Walk } from "../../paging.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const store = await call.openItems();
  const namespace = namespaceOf(given["namespace"] ?? "");
  // Without a namespace all items are meant, not those that lie in no namespace.
  const recursive = options.flag("recursive") || namespace.length === 0;
  const walk = new Walk(call, (place) => store.list(namespace, { ...place, recursive }));
  await printer.list(itemListing(walk.items(), () => walk.cursor));
  await walk.report();
  return EXIT.done;
}
