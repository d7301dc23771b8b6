import type { ThreadSearchHit } from "../../../checkpoint/base-checkpointer.ts";
import type { SearchOrder } from "../../../checkpoint/log/thread-log.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { summaryJson, THREAD_COLUMNS } from "../../output/summaries.ts";
import { plural } from "../../output/wording.ts";
import { Walk } from "../../paging.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, note, rest } = call;
  const checkpointer = await call.open();
  await checkpointer.connect();
  if (printer.isForPeople && checkpointer.capabilities.searchMethod === "scan") {
    await note("reading every thread: with read access there is no index here that is sure to be complete");
  }
  const prefix = options.text("prefix");
  let order = "best" as SearchOrder;
  const walk = new Walk<ThreadSearchHit>(call, async (place) => {
    const within = prefix !== undefined && { threadPrefix: prefix };
    const page = await checkpointer.search(rest.join(" "), { ...place, ...within });
    order = page.order;
    return page;
  });
  const count = await printer.list({
    items: walk.items(),
    columns: [...THREAD_COLUMNS, { title: "score", cell: ({ score }) => Number(score.toPrecision(3)), align: "right" }],
    json: summaryJson,
    id: ({ threadId }) => threadId,
    cursor: () => walk.cursor,
    facts: () => ({ order }),
  });
  if (printer.isForPeople) {
    const most = checkpointer.capabilities.searchRanksUpTo;
    const which = order === "newest" ? `, newest first: more than ${most} have these words, too many to rank` : "";
    await note(`${plural(count, "hit")}${which}`);
  }
  await walk.report();
  return count === 0 && options.flag("exit-code") ? EXIT.no : EXIT.done;
}
