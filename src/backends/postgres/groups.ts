import type { KnownPlace } from "../../checkpoint/log/thread-log.ts";
import type { Row, Values } from "../../checkpoint/sql-log/dialect.ts";
import type { ReadName } from "../../checkpoint/sql-log/reads.ts";
import type { Removed, SqlStorage } from "../../checkpoint/sql-log/sql-log.ts";
import { Groups, type Ways } from "../../driver/groups.ts";
import { StateError } from "../../errors.ts";
import type { TextRow } from "./ask.ts";
import { type Appending, mayShare, mayShareEdits } from "./calls.ts";
import { sqlState } from "./classify.ts";
import type { RunStatement } from "./statements.ts";

/** Calls for different threads that wait at the same time are one statement. */

/** Appends: `append_many`. The answer is whether it was appended. */
export const appendWays = (send: Pick<Ways<Appending, boolean>, "one" | "many">): Ways<Appending, boolean> => ({
  ...send,
  mayShare,
  threadOf: ({ threadId }) => threadId,
  bytesOf: ({ request }) => request.record.body.byteLength,
  // A group that was answered stays together: without this, its first two calls would go alone each time.
  gathers: "answered",
  isRefusal,
});

/** Appends that also change older records: `edit_many`. Fewer go together: each is more work. */
export const editWays = (send: Pick<Ways<Appending, boolean>, "one" | "many">): Ways<Appending, boolean> => ({
  ...send,
  mayShare: mayShareEdits,
  threadOf: ({ threadId }) => threadId,
  bytesOf: ({ request: { record, more = [], replace = [] } }) =>
    [record, ...more, ...replace].reduce((bytes, { body }) => bytes + body.byteLength, 0),
  most: 32,
  gathers: "turn",
  mostUnderWay: 1,
  isRefusal,
});

interface Removal {
  readonly threadId: string;
  readonly ifTail: KnownPlace | undefined;
}

export interface CallGroups {
  /** A vacuum reads tails, lists and checkpoints of very many threads. */
  readonly read: SqlStorage["read"];
  readonly removals: Groups<Removal, Removed>;
}

export function callGroups(read: SqlStorage["read"], run: RunStatement): CallGroups {
  const grouped = (
    name: ReadName,
    many: (group: readonly Values[]) => Promise<readonly (readonly Row[] | undefined)[]>,
  ): Groups<Values, readonly Row[]> =>
    new Groups(ways({ threadOf: ({ thread }) => String(thread), one: (values) => read(name, values), many }));
  const groups: Readonly<Partial<Record<ReadName, Groups<Values, readonly Row[]>>>> = {
    tail: grouped("tail", async (group) => {
      const rows = rowsByPlace(await run("tailMany", column(group, "thread")));
      return group.map((_, place) => rows.get(place) ?? []);
    }),
    list: grouped("list", async (group) => {
      const most = group.map(mostInAGroup);
      const rows = rowsByPlace(await run("listMany", column(group, "thread"), column(group, "before"), most));
      return group.map((values, place) => {
        const found = rows.get(place) ?? [];
        return Number(values["most"]) <= mostInAGroup(values) || found.length < mostInAGroup(values)
          ? found
          : undefined;
      });
    }),
    readCheckpoint: grouped("readCheckpoint", async (group) => {
      const columns = [column(group, "thread"), column(group, "name")];
      const rows = rowsByPlace(await run("readCheckpointMany", ...columns, MOST_BYTES_TOGETHER));
      return group.map((_, place) => rows.get(place)?.map(withBytes));
    }),
  };
  const removals = new Groups<Removal, Removed>(
    ways({
      threadOf: ({ threadId }) => threadId,
      mayShare: ({ ifTail }) => ifTail !== undefined,
      // What one caller removes keeps one connection busy for a short while, and leaves the server to those who save.
      most: 64,
      mostUnderWay: 1,
      one: (removal) => removeOne(run, removal),
      many: async (group) => {
        const gone = rowsByPlace(
          await run(
            "removeMany",
            group.map(({ threadId }) => threadId),
            group.map(({ ifTail }) => ifTail?.generation ?? null),
            group.map(({ ifTail }) => ifTail?.seq ?? null),
            group.map(({ ifTail }) => ifTail?.writeId ?? null),
          ),
        );
        return group.map((_, place) => (gone.has(place) ? "removed" : undefined));
      },
    }),
  );
  return { read: (name, values) => groups[name]?.call(values) ?? read(name, values), removals };
}

const column = (group: readonly Values[], name: string): readonly Values[string][] => group.map((each) => each[name]);

/**
 * The limit for one thread in a group: a longer one goes alone, so that a few long threads do not make the answer
 * large.
 */
const mostInAGroup = ({ most }: Values): number => Math.min(Number(most), 50);

/** The limit for the bodies in one answer: a thread with more goes alone. */
const MOST_BYTES_TOGETHER = 4 * 1024 * 1024;

type Needed<Call, Answer> = Pick<Ways<Call, Answer>, "one" | "many" | "threadOf">;

const ways = <Call, Answer>(given: Needed<Call, Answer> & Partial<Ways<Call, Answer>>): Ways<Call, Answer> => ({
  mayShare: () => true,
  bytesOf: () => 0,
  // A group that was answered stays together: without this, its first two calls would ask alone each time.
  gathers: "turn",
  isRefusal,
  ...given,
});

/** Not where the server gave up in the middle, or the connection did. */
function isRefusal(error: unknown): boolean {
  const state = sqlState(StateError.is(error) ? error.cause : error);
  return state !== undefined && /^[0-9A-Z]{5}$/.test(state) && !state.startsWith("08") && !state.startsWith("57");
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

async function removeOne(run: RunStatement, { threadId, ifTail }: Removal): Promise<Removed> {
  const [row] = await run("remove", threadId, ifTail?.generation ?? null, ifTail?.seq ?? null, ifTail?.writeId ?? null);
  if (row?.["found"] !== "1") return "absent";
  if (row["gone"] === "1") return "removed";
  return ifTail === undefined ? "absent" : "moved";
}

/** `\x` and two hexadecimal digits per byte, as every server since 9.0 sends bytea. */
export function withBytes(row: TextRow): Row {
  const { body = null } = row;
  if (body === null) return row;
  if (body.startsWith("\\x")) return { ...row, body: Buffer.from(body.slice(2), "hex") };
  throw new StateError("INCOMPATIBLE", "the server sends bytes in a form of its own: leave bytea_output at hex");
}
