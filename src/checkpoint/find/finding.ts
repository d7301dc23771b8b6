import { signCursor, verifyCursor } from "../../driver/page.ts";
import { SEALED_HEADER } from "../../driver/unopened.ts";
import { MOST_WARNINGS, type ThreadWarning, Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import { globMatcher, globPrefix } from "../../internal/glob.ts";
import type { Standing } from "../../state/tool-calls.ts";
import { encodeText } from "../../state/values/codec.ts";
import type { FindOptions, ListThreadsOptions } from "../base-checkpointer.ts";
import type { CheckpointContext } from "../context.ts";
import { isReadable, readableThreads } from "../log/listed-threads.ts";
import type { KnownPlace, ListedThread, LogPage, ThreadEntry, ThreadLog, WithRecords } from "../log/thread-log.ts";
import { checkedLimit, checkedPrefix } from "../options.ts";
import { hasMember, INDEXED_STANDING, type IndexedStanding, memberOfStanding } from "../record/metadata.ts";
import { openHeader } from "../record/record.ts";
import { type FoundThreads, metadataOf } from "./summary.ts";

export async function findThreads(context: CheckpointContext, options: ListThreadsOptions): Promise<FoundThreads> {
  const { pattern = "*" } = options;
  if (typeof pattern !== "string") throw new StateError("INVALID_ARGUMENT", "pattern must be a string");
  const matches = globMatcher(pattern);
  const wanted = wantedStanding(options.standing);
  const warnings = new Warnings();
  const [prefix, limit] = [globPrefix(pattern), checkedLimit(options.limit, 100)];
  if (context.log.capabilities.metadataQuery && wanted?.every(isIndexed)) {
    const query = { prefix, limit, cursor: verifyCursor("standing", options.cursor) };
    const [found] = await Promise.all([
      queryStanding(context, [...new Set(wanted)], query, matches, warnings),
      lookRound(context, prefix),
    ]);
    noteUnread(context, prefix, matches, warnings);
    return { items: found.items, cursor: signCursor("standing", found.cursor), warnings };
  }
  const query = { prefix, limit, cursor: verifyCursor("threads", options.cursor) };
  const found = await gather(context, query, {
    warnings,
    isMeant: matches,
    test: (thread) => wanted === undefined || standsSo(thread, wanted, warnings),
    showsUnreadable: wanted === undefined,
  });
  return { items: found.items, cursor: signCursor("threads", found.cursor), warnings };
}

const STANDINGS: Readonly<Record<keyof Standing, true>> = {
  waiting: true,
  dueAt: true,
  open: true,
  inDoubt: true,
  unfinished: true,
  stopped: true,
};

function wantedStanding(given: ListThreadsOptions["standing"]): readonly (keyof Standing)[] | undefined {
  if (given === undefined) return undefined;
  const wanted = [given].flat() as (keyof Standing)[];
  const names = Object.keys(STANDINGS).map((name) => JSON.stringify(name));
  if (wanted.length > 0 && wanted.every((name) => Object.hasOwn(STANDINGS, name))) return wanted;
  throw new StateError("INVALID_ARGUMENT", `standing must be one or more of ${names.join(", ")}`);
}

function standsSo({ threadId, head }: ThreadEntry, wanted: readonly (keyof Standing)[], warnings: Warnings): boolean {
  try {
    const { standing } = openHeader(head);
    return wanted.some((name) => standing?.[name] !== undefined);
  } catch (error) {
    warnings.note(error, threadId);
    return false;
  }
}

const isIndexed = (name: keyof Standing): name is IndexedStanding =>
  (INDEXED_STANDING as readonly (keyof Standing)[]).includes(name);

/**
 * Through the index of metadata, so that it costs what is found and not what there is: those that stand in the first
 * way, then those that stand in the next one and in none before it. What the index found, the header decides.
 */
async function queryStanding(
  context: CheckpointContext,
  wanted: readonly IndexedStanding[],
  { prefix, limit, cursor: start }: ThreadQuery,
  isMeant: (threadId: string) => boolean,
  warnings: Warnings,
): Promise<LogPage<ListedThread>> {
  const items: ListedThread[] = [];
  const [name, ...inner] = start?.split(" ") ?? [wanted[0]];
  let cursor = inner.length === 0 ? undefined : inner.join(" ");
  let at = Math.max(0, wanted.indexOf(name as IndexedStanding));
  for (let way = wanted[at]; way !== undefined && items.length < limit; way = wanted[at]) {
    const { key, valueJson } = memberOfStanding(way);
    const query = { prefix, limit: limit - items.length, cursor };
    const found = await queryIndex(context, key, valueJson, query, warnings);
    const before = wanted.slice(0, at);
    const isNew = (thread: ThreadEntry): boolean =>
      standsSo(thread, [way], warnings) && !(before.length > 0 && standsSo(thread, before, warnings));
    items.push(...found.items.filter((thread) => isReadable(thread) && isMeant(thread.threadId) && isNew(thread)));
    cursor = found.cursor;
    if (cursor === undefined) at++;
  }
  const next = wanted[at];
  return { items, cursor: next === undefined ? undefined : cursor === undefined ? next : `${next} ${cursor}` };
}

/** Threads whose newest checkpoint's metadata has exactly this value under this key. */
export async function findByMetadata(
  context: CheckpointContext,
  key: string,
  value: unknown,
  options: FindOptions,
): Promise<FoundThreads> {
  if (typeof key !== "string" || !key.isWellFormed()) {
    throw new StateError("INVALID_ARGUMENT", "the metadata key must be well-formed text");
  }
  const valueJson = encodeText(value, "value");
  const query = {
    prefix: checkedPrefix(options.threadPrefix),
    limit: checkedLimit(options.limit, 100),
    cursor: verifyCursor("metadata", options.cursor),
  };
  const warnings = new Warnings();
  const found = context.log.capabilities.metadataQuery
    ? await queryIndex(context, key, valueJson, query, warnings)
    : await gather(context, query, {
        warnings,
        isMeant: () => true,
        test: (thread) => hasMetadata(thread, key, valueJson, warnings),
        showsUnreadable: false,
      });
  if (found.items.length === 0) await noteSealedThreads(context, "queryByMetadata", query.prefix, warnings);
  return { items: found.items, cursor: signCursor("metadata", found.cursor), warnings };
}

const queryIndex = (
  context: CheckpointContext,
  key: string,
  valueJson: string,
  { cursor, ...query }: ThreadQuery,
  warnings: Warnings,
): Promise<LogPage<ListedThread>> =>
  context.call({ operation: "queryByMetadata" }, async (log) => {
    const options = { ...query, ...(cursor !== undefined && { cursor }) };
    const found = await log.queryMetadata(key, valueJson, options);
    return { items: readableThreads(found.items, warnings), cursor: found.cursor };
  });

function hasMetadata({ threadId, head }: ThreadEntry, key: string, valueJson: string, warnings: Warnings): boolean {
  try {
    return hasMember(metadataOf(head), key, valueJson);
  } catch (error) {
    warnings.note(error, threadId);
    return false;
  }
}

interface ThreadQuery {
  readonly prefix: string;
  readonly limit: number;
  readonly cursor: string | undefined;
}

interface Wanted {
  /** Whether its id is one of those that are asked for. */
  readonly isMeant: (threadId: string) => boolean;
  readonly test: (thread: ThreadEntry) => boolean;
  /** Whether one that cannot be read is shown by its name; otherwise it is in the warnings alone. */
  readonly showsUnreadable: boolean;
  readonly warnings: Warnings;
}

/** The most threads to ask for at once when few of them match. */
const LARGEST_PAGE = 1000;

/**
 * Fills a page with threads that are wanted, in growing steps if few are. A
 * cursor always points behind a whole page of the driver; if such a page contains
 * more matches than are wanted, it is read again only as far as needed.
 */
async function gather(
  context: CheckpointContext,
  { prefix, limit, cursor: start }: ThreadQuery,
  { isMeant, test, showsUnreadable, warnings }: Wanted,
): Promise<LogPage<ListedThread>> {
  const items: ListedThread[] = [];
  const isShown = (thread: ListedThread): boolean => {
    const { threadId } = thread;
    if (threadId === undefined || !isMeant(threadId)) return false;
    return isReadable(thread) ? test(thread) : showsUnreadable;
  };
  let cursor = start;
  for (let size = limit; items.length < limit; ) {
    const query = { prefix, limit: size, ...(cursor !== undefined && { cursor }) };
    const found = await readPage(context, query, items.length > 0);
    // The matches found so far are returned first; the failure comes with the next page.
    if (found === undefined) return { items, cursor };
    const wanted = limit - items.length;
    const matches = found.items.filter(isShown);
    if (matches.length > wanted) {
      size = found.items.indexOf(matches[wanted - 1] as ListedThread) + 1;
      continue;
    }
    items.push(...matches);
    readableThreads(
      found.items.filter(({ threadId }) => threadId === undefined || isMeant(threadId)),
      warnings,
    );
    cursor = found.cursor;
    if (cursor === undefined) break;
    size = Math.max(limit - items.length, Math.min(size * 2, LARGEST_PAGE));
  }
  return { items, cursor };
}

async function readPage(
  context: CheckpointContext,
  query: Parameters<ThreadLog["listThreads"]>[0],
  mayFail: boolean,
): Promise<LogPage<ListedThread> | undefined> {
  try {
    return await context.call({ operation: "listThreads" }, (log) => log.listThreads(query));
  } catch (error) {
    if (mayFail && query.cursor !== undefined) return undefined;
    throw error;
  }
}

/**
 * Every thread that can be read, page by page: the one way to walk a whole
 * storage. Those that cannot be listed are noted. What is thrown is the storage's
 * own trouble.
 */
export async function* everyThread(
  context: CheckpointContext,
  operation: string,
  prefix: string,
  warnings: Warnings,
  limit: number = 100,
): AsyncGenerator<ThreadEntry, void, undefined> {
  const list = (log: ThreadLog, query: ListQuery): Promise<LogPage<ListedThread>> => log.listThreads(query);
  yield* walked(context, operation, prefix, warnings, limit, list);
}

/** The same but for those to skip, with the records of those that come with them. */
export const everyWholeThread = (
  context: CheckpointContext,
  operation: string,
  warnings: Warnings,
  skips: (threadId: string, tail: KnownPlace) => boolean,
): AsyncGenerator<ThreadEntry & WithRecords, void, undefined> =>
  walked(context, operation, "", warnings, LARGEST_PAGE, (log, query) => log.readThreads({ ...query, skips }));

type ListQuery = Parameters<ThreadLog["listThreads"]>[0];

async function* walked<Thread extends ListedThread>(
  context: CheckpointContext,
  operation: string,
  prefix: string,
  warnings: Warnings,
  limit: number,
  list: (log: ThreadLog, query: ListQuery) => Promise<LogPage<Thread>>,
): AsyncGenerator<Thread & ThreadEntry, void, undefined> {
  let cursor: string | undefined;
  do {
    const query = { prefix, limit, ...(cursor !== undefined && { cursor }) };
    const found = await context.call({ operation }, (log) => list(log, query));
    readableThreads(found.items, warnings);
    yield* found.items.filter((thread): thread is Thread & ThreadEntry => isReadable(thread));
    // Would never end.
    if (found.cursor !== undefined && found.cursor === cursor) {
      throw new StateError("CORRUPT", "the storage's list of threads leads to the same page again and again");
    }
    cursor = found.cursor;
  } while (cursor !== undefined);
}

/** How many threads are looked at beside one answer of an index. */
const LOOK = 100;

/**
 * An index leads to what it was told, and it was told nothing of damage that came later, of what is sealed, and of what
 * a newer version wrote. So beside each list that an index answers, the next few threads are looked at, round and round:
 * a list costs what it finds and a constant, and every thread that cannot be read is named by all lists of a process
 * from the moment on when it was met, until it was met mended. Where threads are few, that is at once.
 */
interface Round {
  cursor: string | undefined;
  /** Of this round so far, and of the one before it. */
  met: Map<string | undefined, ThreadWarning>;
  before: Map<string | undefined, ThreadWarning>;
  isLooking: boolean;
}

const rounds = new WeakMap<CheckpointContext, Map<string, Round>>();
/** A program lists below few prefixes. Of one that does not, the oldest are forgotten. */
const MOST_ROUNDS = 64;

function roundOf(context: CheckpointContext, prefix: string): Round {
  const all = rounds.get(context) ?? new Map<string, Round>();
  rounds.set(context, all);
  const round = all.get(prefix) ?? { cursor: undefined, met: new Map(), before: new Map(), isLooking: false };
  all.delete(prefix);
  all.set(prefix, round);
  for (const oldest of [...all.keys()].slice(0, -MOST_ROUNDS)) all.delete(oldest);
  return round;
}

async function lookRound(context: CheckpointContext, prefix: string): Promise<void> {
  const round = roundOf(context, prefix);
  if (!context.log.capabilities.listThreads || round.isLooking) return;
  round.isLooking = true;
  const { cursor } = round;
  const query = { prefix, limit: LOOK, ...(cursor !== undefined && { cursor }) };
  try {
    const found = await context.call({ operation: "listThreads" }, (log) => log.listThreads(query));
    const warnings = new Warnings();
    for (const { threadId, head } of readableThreads(found.items, warnings)) {
      await warnings.skipping(threadId, () => openHeader(head));
    }
    for (const { threadId } of found.items) round.before.delete(threadId);
    for (const warning of warnings.list.slice(0, MOST_WARNINGS - round.met.size))
      round.met.set(warning.threadId, warning);
    round.cursor = found.cursor;
    if (found.cursor === undefined) [round.before, round.met] = [round.met, new Map()];
  } catch {
    // What was asked for is answered: a look beside it that fails takes nothing away.
    round.cursor = undefined;
  } finally {
    round.isLooking = false;
  }
}

function noteUnread(
  context: CheckpointContext,
  prefix: string,
  isMeant: (threadId: string) => boolean,
  warnings: Warnings,
): void {
  const { met, before } = roundOf(context, prefix);
  for (const [threadId, warning] of new Map([...before, ...met])) {
    if (threadId === undefined || isMeant(threadId)) warnings.name(warning);
  }
}

const LOOKED_AT = 3;

/** Contexts in which a look found none. They do not look again: that would cost every search that finds nothing. */
const metNone = new WeakSet<CheckpointContext>();

/**
 * Threads that were sealed have no words in an index and no metadata, so to a program
 * without keys they look as if they were not there. An answer without threads says so then.
 */
export async function noteSealedThreads(
  context: CheckpointContext,
  operation: string,
  prefix: string,
  warnings: Warnings,
): Promise<void> {
  const { capabilities } = context.log;
  if (!capabilities.listThreads || (capabilities.sealing ?? "none") !== "none" || metNone.has(context)) return;
  const query = { prefix, limit: LOOKED_AT };
  // What was asked for was answered: a look beside it that fails takes nothing away.
  const nothing: LogPage<ListedThread> = { items: [], cursor: undefined };
  const { items } = await context.call({ operation }, (log) => log.listThreads(query)).catch(() => nothing);
  const sealed = items.filter(isReadable).filter(({ head }) => head.header.startsWith(SEALED_HEADER));
  if (sealed.length === 0 && items.length > 0 && prefix === "") metNone.add(context);
  for (const { threadId, head } of sealed) {
    await warnings.skipping(threadId, () => openHeader(head));
  }
}
