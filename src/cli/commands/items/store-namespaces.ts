import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { namespaceOf, namespaceText } from "../../item-listing.ts";
import { Walk } from "../../paging.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const store = await call.openItems();
  const prefix = namespaceOf(call.given["prefix"] ?? "");
  const walk = new Walk(call, (place) => store.listNamespaces({ ...place, ...(prefix.length > 0 && { prefix }) }));
  await call.printer.list({
    items: walk.items(),
    columns: [{ title: "namespace", cell: (namespace) => ({ id: namespaceText(namespace) }) }],
    json: (namespace) => namespace,
    id: namespaceText,
    cursor: () => walk.cursor,
  });
  await walk.report();
  return EXIT.done;
}
