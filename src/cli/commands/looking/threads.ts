import type { ThreadSummary } from "../../../checkpoint/base-checkpointer.ts";
import type { Checkpointer } from "../../../checkpoint/checkpointer.ts";
import { globOfPrefix } from "../../../internal/glob.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { summaryJson, THREAD_COLUMNS } from "../../output/summaries.ts";
import { plural } from "../../output/wording.ts";
import { Walk } from "../../paging.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, note } = call;
  const walk = walkOf(call, await call.open());
  const sort = options.text("sort");
  const items = sort === undefined ? walk.items() : sorted(call, walk, sort);
  const count = await printer.list({
    items,
    columns: THREAD_COLUMNS,
    json: summaryJson,
    id: ({ threadId }) => threadId,
    cursor: () => walk.cursor,
  });
  if (printer.isForPeople) await note(plural(count, "thread"));
  await walk.report();
  return count === 0 && options.flag("exit-code") ? EXIT.no : EXIT.done;
}

function walkOf(call: CommandCall, checkpointer: Checkpointer): Walk<ThreadSummary> {
  const { options, given } = call;
  const standing = (["waiting", "inDoubt", "unfinished"] as const).filter((name) =>
    options.flag(name === "inDoubt" ? "in-doubt" : name),
  );
  const prefix = options.text("prefix");
  const meta = options.text("meta");
  if (given["pattern"] !== undefined && prefix !== undefined)
    throw new UsageError("give a pattern or --prefix, not both");
  if (meta !== undefined) {
    if (given["pattern"] !== undefined || standing.length > 0) {
      throw new UsageError("--meta goes with --prefix only", "filter its ndjson for more");
    }
    const [key, value] = metaOf(meta);
    const found = { ...(prefix !== undefined && { threadPrefix: prefix }) };
    return new Walk(call, (place) => checkpointer.queryByMetadata(key, value, { ...place, ...found }));
  }
  const pattern = given["pattern"] ?? globOfPrefix(prefix ?? "");
  return new Walk(call, (place) =>
    checkpointer.listWithMetadata({ ...place, pattern, ...(standing.length > 0 && { standing }) }),
  );
}

/** `colour=red` is text, `count=3` a number, as JSON has them; `"3"` in quotes is text again. */
function metaOf(text: string): readonly [key: string, value: unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError("--meta takes key=value");
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value)];
  } catch {
    return [text.slice(0, at), value];
  }
}

/** Storages list in an order of their own, so that every thread is read before the first is shown. */
async function* sorted(call: CommandCall, walk: Walk<ThreadSummary>, by: string): AsyncGenerator<ThreadSummary> {
  const { options, note } = call;
  if (options.text("cursor") !== undefined) throw new UsageError("--cursor does not go with --sort");
  const all: ThreadSummary[] = [];
  for await (const thread of walk.items(true)) all.push(thread);
  const time = ({ createdAt }: ThreadSummary): number => createdAt?.getTime() ?? 0;
  all.sort((a, b) => (by === "recent" ? time(b) - time(a) : 0) || (a.threadId < b.threadId ? -1 : 1));
  const shown = options.flag("all") ? all : all.slice(0, options.count("limit", 50, 1));
  if (shown.length < all.length)
    await note(`the first ${shown.length} of ${plural(all.length, "thread")}; --all shows all`);
  yield* shown;
}
