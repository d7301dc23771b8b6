import type { Memory } from "../../../memory/memory.ts";
import type { StoreItem } from "../../../store/items/items.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { itemJson, namespaceOf, namespaceText } from "../../item-listing.ts";
import { Walk } from "../../paging.ts";

/** What agents remember of people: the facts below a prefix, and which thread each of them is from. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const store = await call.openItems();
  const prefix = namespaceOf(options.text("prefix") ?? "memory");
  const user = given["user"];
  const place = user === undefined ? prefix : [...prefix, "users", user];
  const walk = new Walk(call, (page) => store.list<Memory>(place, { ...page, recursive: true }));
  await printer.list({
    items: memoriesIn(walk.items(), options.flag("ended")),
    columns: [
      { title: "whose", cell: ({ namespace }) => namespaceText(namespace.slice(prefix.length, -1)) },
      { title: "memory", cell: ({ value }) => value.text },
      { title: "type", cell: ({ value }) => value.type },
      { title: "since", cell: ({ value }) => new Date(value.validFrom) },
      { title: "status", cell: ({ value }) => (value.pinned ? `${value.status}, pinned` : value.status) },
      { title: "thread", cell: ({ value: { provenance } }) => provenance.threadId ?? undefined },
      { title: "id", cell: ({ key }) => ({ id: key }) },
    ],
    json: itemJson,
    id: ({ key }) => key,
    cursor: () => walk.cursor,
  });
  await walk.report();
  return EXIT.done;
}

async function* memoriesIn(
  items: AsyncIterable<StoreItem<Memory>>,
  withEnded: boolean,
): AsyncGenerator<StoreItem<Memory>> {
  for await (const item of items) {
    if (item.namespace.at(-1) !== "facts" || typeof item.value?.text !== "string") continue;
    if (withEnded || item.value.status === "active") yield item;
  }
}
