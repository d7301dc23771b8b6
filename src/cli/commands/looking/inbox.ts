import type { InboxItem } from "../../../checkpoint/find/inbox.ts";
import { encodeValue } from "../../../state/values/codec.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { Walk } from "../../paging.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, note } = call;
  const checkpointer = await call.open();
  const prefix = options.text("prefix");
  const walk = new Walk<InboxItem>(call, (place) =>
    checkpointer.inbox({ ...place, ...(prefix !== undefined && { threadPrefix: prefix }) }),
  );
  const count = await printer.list({
    items: walk.items(),
    columns: [
      { title: "thread", cell: ({ threadId }) => ({ id: threadId }) },
      { title: "kind", cell: ({ kind, isInDoubt }) => (isInDoubt ? "in doubt" : kind) },
      { title: "answer to", cell: ({ id }) => ({ id }) },
      { title: "tool", cell: ({ toolName }) => toolName },
      { title: "since", cell: ({ since }) => since },
      { title: "question", cell: ({ question }) => question },
    ],
    json: ({ since, dueAt, ...item }) => ({
      ...(encodeValue(item, "item") as object),
      ...(since !== undefined && { since }),
      ...(dueAt !== undefined && { dueAt }),
    }),
    id: ({ threadId }) => threadId,
    cursor: () => walk.cursor,
  });
  if (printer.isForPeople) await note(`${count} waiting`);
  await walk.report();
  return count === 0 && options.flag("exit-code") ? EXIT.no : EXIT.done;
}
