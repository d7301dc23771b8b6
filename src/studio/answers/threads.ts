import { isGraphs, openHeader } from "../../checkpoint/record/record.ts";
import type {
  CheckpointRow,
  CheckpointsAnswer,
  InboxAnswer,
  SearchAnswer,
  StoreAnswer,
  ThreadAnswer,
  ThreadRow,
  ThreadsAnswer,
} from "../api.ts";
import type { StudioRequest } from "../request.ts";
import type { StudioContext } from "../studio-context.ts";
import { type Order, rowOf } from "../thread-index.ts";
import { ARGUMENTS_SHOWN, cut, cutAt, fitting, LINE_SHOWN } from "./cut.ts";
import { shownSchema } from "./messages.ts";
import { jsonText } from "./value-tree.ts";

export function storeAnswer({ options, checkpointer, context }: StudioContext): StoreAnswer {
  return {
    store: options.storeName,
    backend: context.log.name,
    version: options.version,
    mayWrite: options.mayWrite,
    mayDelete: options.mayDelete,
    hasItems: options.openItems !== undefined,
    hasPeople: options.people !== undefined,
    canErase: options.canErase,
    searchMethod: checkpointer.capabilities.searchMethod,
  };
}

const ROWS = 100;

const STANDS: Readonly<Record<string, (row: ThreadRow) => boolean>> = {
  waiting: ({ standing }) => standing?.waiting !== undefined,
  inDoubt: ({ standing }) => standing?.inDoubt !== undefined,
  unfinished: ({ standing }) => standing?.unfinished === true,
  damaged: ({ trouble }) => trouble !== undefined,
  graph: ({ kind }) => kind === "graph",
  forked: ({ forkedFrom }) => forkedFrom !== undefined,
};

const byId = (a: ThreadRow, b: ThreadRow): number => (a.threadId < b.threadId ? -1 : a.threadId > b.threadId ? 1 : 0);

const RECENT: Order = (a, b) => (b.lastAt ?? 0) - (a.lastAt ?? 0) || byId(a, b);

const ORDERS: Readonly<Record<string, Order>> = {
  recent: RECENT,
  id: byId,
  size: (a, b) => (b.loadBytes ?? 0) - (a.loadBytes ?? 0) || byId(a, b),
  messages: (a, b) => (b.messages ?? 0) - (a.messages ?? 0) || byId(a, b),
};

/** A slice of what the walk has read, filtered and sorted, and how far it has come. */
export async function threadsAnswer({ index }: StudioContext, request: StudioRequest): Promise<ThreadsAnswer> {
  await index.look({ readOn: request.text("readOn") === "1" });
  const text = request.text("text")?.toLowerCase();
  const stands = STANDS[request.text("standing") ?? ""];
  const [key, ...rest] = (request.text("meta") ?? "").split("=");
  const value = rest.join("=");
  const counts = { waiting: 0, inDoubt: 0, unfinished: 0, damaged: index.progress.unnamed ?? 0 };
  const found: ThreadRow[] = [];
  for (const row of index.inOrder(ORDERS[request.text("sort") ?? "recent"] ?? RECENT)) {
    for (const name of ["waiting", "inDoubt", "unfinished", "damaged"] as const)
      if (STANDS[name]?.(row)) counts[name]++;
    if (text !== undefined && !row.threadId.toLowerCase().includes(text)) continue;
    if (stands !== undefined && !stands(row)) continue;
    if (key !== "" && !row.metadata.some(([name, shown]) => name === key && shown === value)) continue;
    found.push(row);
  }
  const from = request.count("from", 0, 1_000_000);
  const rows = fitting(found.slice(from, from + request.count("count", ROWS, ROWS)));
  return { rows, from, total: found.length, counts, walk: index.progress };
}

export async function threadAnswer(studio: StudioContext, { thread: threadId }: StudioRequest): Promise<ThreadAnswer> {
  const { entry } = await studio.states.place(threadId, undefined);
  const row = rowOf({ threadId, head: entry });
  const lease = await studio.checkpointer.leaseOf(threadId);
  return {
    ...row,
    seq: entry.seq,
    isNewest: true,
    ...(lease !== undefined && {
      lease: { owner: cutAt(lease.owner, LINE_SHOWN), token: lease.token, until: lease.expiresAt.getTime() },
    }),
  };
}

/** The newest first, from headers alone. */
export async function checkpointsAnswer(
  { context }: StudioContext,
  request: StudioRequest,
): Promise<CheckpointsAnswer> {
  const threadId = request.thread;
  const limit = request.count("count", 50, 200);
  const before = request.count("cursor", 0, Number.MAX_SAFE_INTEGER);
  const query = { limit: limit + 1, ...(before > 0 && { before }) };
  const found = await context.call({ operation: "listCheckpoints", threadId }, (log) => log.list(threadId, query));
  const rows = found.slice(0, limit).map((entry, index): CheckpointRow => {
    const { kind, createdAt, messageCount, bodyBytes, chain, standing, thread } = openHeader(entry);
    const older = found[index + 1] === undefined ? undefined : openHeader(found[index + 1] ?? entry);
    return {
      checkpointId: entry.checkpointId ?? "",
      seq: entry.seq,
      at: createdAt,
      kind: kind === "base" ? "base" : "delta",
      messages: messageCount,
      bytes: bodyBytes,
      loadBytes: chain.bytes,
      ...(older !== undefined && !isGraphs(thread) && { added: messageCount - older.messageCount }),
      ...(older !== undefined && { gap: createdAt - older.createdAt }),
      ...(standing !== undefined && { standing }),
    };
  });
  const last = rows.at(-1);
  return { rows, ...(last !== undefined && found.length > limit && { cursor: String(last.seq) }) };
}

const INBOX_THREADS = 25;

export async function inboxAnswer({ checkpointer }: StudioContext, request: StudioRequest): Promise<InboxAnswer> {
  const cursor = request.text("cursor");
  const found = await checkpointer.inbox({ limit: INBOX_THREADS, ...(cursor !== undefined && { cursor }) });
  const items = found.map((item) => ({
    threadId: item.threadId,
    id: item.id,
    kind: item.kind,
    toolCallId: cutAt(item.toolCallId, LINE_SHOWN),
    toolName: cutAt(item.toolName, LINE_SHOWN),
    arguments: cut(jsonText(item.arguments, 2), ARGUMENTS_SHOWN),
    question: cut(item.question, ARGUMENTS_SHOWN),
    ...shownSchema(item.schema),
    ...(item.isInDoubt && { isInDoubt: item.isInDoubt }),
    ...(item.idempotencyKey !== undefined && { idempotencyKey: cutAt(item.idempotencyKey, LINE_SHOWN) }),
    ...(item.since !== undefined && { since: item.since.getTime() }),
  }));
  items.sort((a, b) => (a.since ?? 0) - (b.since ?? 0));
  const shown = fitting(items);
  const warnings = (found.warnings ?? []).map(({ threadId, message }) => `${threadId ?? "a thread"}: ${message}`);
  if (shown.length < items.length)
    warnings.push(`${items.length - shown.length} more are too much for one page: answer some first`);
  return { items: shown, warnings, ...(found.cursor !== undefined && { cursor: found.cursor }) };
}

export async function searchAnswer({ checkpointer }: StudioContext, request: StudioRequest): Promise<SearchAnswer> {
  const words = request.text("words");
  if (words === undefined) return { hits: [], order: "best" };
  const [prefix, cursor] = [request.text("prefix"), request.text("cursor")];
  const found = await checkpointer.search(words, {
    limit: 50,
    ...(prefix !== undefined && { threadPrefix: prefix }),
    ...(cursor !== undefined && { cursor }),
  });
  const hits = found.map(({ threadId, checkpointId, score, createdAt, messageCount }) => ({
    threadId,
    checkpointId,
    score,
    ...(createdAt !== undefined && { at: createdAt.getTime() }),
    ...(messageCount !== undefined && { messages: messageCount }),
  }));
  return { hits, order: found.order, ...(found.cursor !== undefined && { cursor: found.cursor }) };
}
