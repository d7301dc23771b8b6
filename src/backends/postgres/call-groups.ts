import type { KnownPlace, LogChain, LogEntry, ThreadTail } from "../../checkpoint/log/thread-log.ts";
import { Groups, type Ways } from "../../driver/groups.ts";
import { isRefusal } from "./append-groups.ts";
import type { TextRow } from "./ask.ts";
import { chainOf, toEntry } from "./rows.ts";
import type { RunStatement } from "./statements.ts";

export interface Named {
  readonly threadId: string;
  readonly name: string;
}

export interface Listing {
  readonly threadId: string;
  readonly before: number;
  readonly limit: number;
}

export interface Removal {
  readonly threadId: string;
  readonly ifTail?: KnownPlace;
}

export type Removed = "removed" | "absent" | "moved";

/** A vacuum asks these of very many threads: those that wait at the same time are one statement. */
export interface CallGroups {
  readonly tails: Groups<string, ThreadTail | "absent">;
  readonly lists: Groups<Listing, readonly LogEntry[]>;
  readonly checkpoints: Groups<Named, LogChain | "absent">;
  readonly removals: Groups<Removal, Removed>;
}

export const callGroups = (run: RunStatement): CallGroups => ({
  tails: new Groups(
    ways({
      threadOf: (threadId) => threadId,
      one: async (threadId) => tailOf(await run("tail", threadId)),
      many: async (threadIds) => {
        const rows = rowsByPlace(await run("tailMany", threadIds));
        return threadIds.map((_, place) => unlessDamaged(() => tailOf(rows.get(place) ?? [])));
      },
    }),
  ),
  lists: new Groups<Listing, readonly LogEntry[]>(
    ways({
      threadOf: ({ threadId }) => threadId,
      one: async ({ threadId, before, limit }) => (await run("list", threadId, before, limit)).map(toEntry),
      many: async (group) => {
        const columns = [group.map(({ threadId }) => threadId), group.map(({ before }) => before)];
        const rows = rowsByPlace(await run("listMany", ...columns, group.map(mostInAGroup)));
        return group.map((listing, place) => {
          const found = rows.get(place) ?? [];
          const isWhole = listing.limit <= mostInAGroup(listing) || found.length < mostInAGroup(listing);
          return isWhole ? unlessDamaged(() => found.map(toEntry)) : undefined;
        });
      },
    }),
  ),
  checkpoints: new Groups<Named, LogChain | "absent">(
    ways({
      threadOf: ({ threadId }) => threadId,
      one: async ({ threadId, name }) => checkpointOf(await run("readCheckpoint", threadId, name)),
      many: async (group) => {
        const columns = [group.map(({ threadId }) => threadId), group.map(({ name }) => name)];
        const rows = rowsByPlace(await run("readCheckpointMany", ...columns, MOST_BYTES_TOGETHER));
        return group.map((_, place) => {
          const found = rows.get(place);
          return found && unlessDamaged(() => checkpointOf(found));
        });
      },
    }),
  ),
  removals: new Groups(
    ways({
      threadOf: ({ threadId }) => threadId,
      mayShare: ({ ifTail }) => ifTail !== undefined,
      // What one caller removes keeps one connection busy for a short while, and leaves the server to those who save.
      most: 64,
      mostUnderWay: 1,
      one: (removal) => removeOne(run, removal),
      many: async (group) => {
        const rows = await run(
          "removeMany",
          group.map(({ threadId }) => threadId),
          group.map(({ ifTail }) => ifTail?.generation ?? null),
          group.map(({ ifTail }) => ifTail?.seq ?? null),
          group.map(({ ifTail }) => ifTail?.writeId ?? null),
        );
        const gone = rowsByPlace(rows);
        return group.map((_, place) => (gone.has(place) ? "removed" : undefined));
      },
    }),
  ),
});

/** Of one thread in a group: whoever has more goes alone, so that a few long threads do not make the answer large. */
const mostInAGroup = ({ limit }: Listing): number => Math.min(limit, 50);

/** Of the bodies in one answer: whoever has more goes alone. */
const MOST_BYTES_TOGETHER = 4 * 1024 * 1024;

type Needed<Call, Answer> = Pick<Ways<Call, Answer>, "one" | "many" | "threadOf">;

const ways = <Call, Answer>(given: Needed<Call, Answer> & Partial<Ways<Call, Answer>>): Ways<Call, Answer> => ({
  mayShare: () => true,
  bytesOf: () => 0,
  // A group that is answered goes on as one: without this, its first two would ask alone each time.
  gathers: "turn",
  isRefusal,
  ...given,
});

/** Nothing, so that it is asked for alone and the damage is told to whom it concerns. */
function unlessDamaged<T>(answer: () => T): T | undefined {
  try {
    return answer();
  } catch {
    return undefined;
  }
}

/** The server counts places from 1. */
function rowsByPlace(rows: readonly TextRow[]): ReadonlyMap<number, readonly TextRow[]> {
  const found = new Map<number, TextRow[]>();
  for (const row of rows) {
    const place = Number(row["place"]) - 1;
    const known = found.get(place);
    if (known === undefined) found.set(place, [row]);
    else known.push(row);
  }
  return found;
}

function tailOf([row]: readonly TextRow[]): ThreadTail | "absent" {
  if (row === undefined) return "absent";
  const ttlMs = row["ttl_ms"] ?? undefined;
  const left = ttlMs === undefined ? {} : { ttlMs: Math.max(Number(ttlMs), 0) };
  return { generation: row["generation"] ?? "", entry: toEntry(row), ...left };
}

const checkpointOf = (rows: readonly TextRow[]): LogChain | "absent" =>
  chainOf(rows.at(-1), rows.slice(0, -1)) ?? "absent";

async function removeOne(run: RunStatement, { threadId, ifTail }: Removal): Promise<Removed> {
  const [row] = await run("remove", threadId, ifTail?.generation ?? null, ifTail?.seq ?? null, ifTail?.writeId ?? null);
  if (row?.["found"] !== "1") return "absent";
  if (row["gone"] === "1") return "removed";
  return ifTail === undefined ? "absent" : "moved";
}
