/**
 * Every call into the file system is a step here. An operation is stopped
 * before each of its steps in turn: for good, as by kill -9, or until another
 * operation has run in between. The files are real. Long because modules are
 * replaced by stepwise ones for a single file of tests.
 */

import { existsSync } from "node:fs";
import { lutimes, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { actors } from "../../../test/file/stepwise.ts";
import type { AppendRequest, LogEntry, LogRecord, ThreadLog } from "../../checkpoint/thread-log.ts";
import { recordAt } from "../../testing/thread-log-cases/sample-records.ts";
import { threadDirectoryName } from "./layout.ts";
import { FileLog } from "./log.ts";
import { RootDirectory } from "./root.ts";
import { readThread } from "./snapshot.ts";

vi.mock("node:fs/promises", async (original) => {
  const { stepwiseModule } = await import("../../../test/file/stepwise.ts");
  return stepwiseModule(await original());
});
vi.mock("./read-file.ts", async (original) => {
  const { stepwiseModule } = await import("../../../test/file/stepwise.ts");
  const { closeFile, ...others } = await original<typeof import("./read-file.ts")>();
  // Also here the system closes the files of a process that is killed.
  return { ...stepwiseModule(others), closeFile };
});

interface Actor {
  before(): Promise<void>;
  /** Comes when it stops, if ever. */
  readonly stopped: Promise<void>;
  readonly isStopped: boolean;
}

/** Calls `stop` before the n-th step and every later one. */
function actor(n: number, stop: () => Promise<void>): Actor {
  let taken = 0;
  const { promise: stopped, resolve } = gate();
  return {
    before: async () => {
      if (++taken < n) return;
      resolve();
      await stop();
    },
    stopped,
    get isStopped() {
      return taken >= n;
    },
  };
}

function gate(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((open) => (resolve = open));
  return { promise, resolve: () => resolve() };
}

type Act = (log: ThreadLog) => Promise<unknown>;

const append =
  (seq: number, writeId: string, fields: Partial<AppendRequest> = {}): Act =>
  (log) =>
    log.append("t", {
      generation: "first",
      expected: seq - 1,
      record: recordAt(seq, { writeId, checkpointId: writeId }),
      ...fields,
    });

const inTurn =
  (...acts: Act[]): Act =>
  async (log) => {
    const outcomes: unknown[] = [];
    for (const act of acts) outcomes.push(await act(log));
    return outcomes;
  };

const nothing: Act = async () => undefined;
const EDITS = { replace: [recordAt(3, { writeId: "rewritten" })], drop: [2], dropBelow: 2 };
const REPLACING = { replace: [recordAt(2, { writeId: "two" }), recordAt(3, { writeId: "three" })] };
const fourRecords = inTurn(...[1, 2, 3, 4].map((seq) => append(seq, `write-${seq}`)));
const recordsFrom = (seq: number, ...writeIds: string[]): LogRecord[] =>
  writeIds.map((writeId, index) => recordAt(seq + index, { writeId, checkpointId: writeId }));
/** Three records at once; the last has a further name. */
const several = (seq: number, writeId: string, fields: Partial<AppendRequest> = {}): Act => {
  const last = recordAt(seq + 2, { writeId: `${writeId}-last`, names: ["latest"] });
  return append(seq, writeId, { more: [...recordsFrom(seq + 1, `${writeId}-second`), last], ...fields });
};
/** Four records as well, three of which are in one file. */
const threeTogether = inTurn(
  append(1, "write-1"),
  append(2, "write-2", { more: recordsFrom(3, "write-3", "write-4") }),
);
const ONE_OF_SEVERAL = { replace: [recordAt(3, { writeId: "rewritten", names: ["renamed"] })], drop: [2] };
const remove: Act = (log) => log.remove("t");
const removeAtFour: Act = (log) => log.remove("t", { generation: "first", seq: 4 });
/** Like the last, where no byte can be written. */
const removeAtFourOnFullDisk: Act = (log) => {
  const outer = actors.getStore();
  const before = async (call: string, path?: unknown): Promise<void> => {
    await outer?.before(call, path);
    if (call === "write") throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  };
  return actors.run({ before }, () => removeAtFour(log));
};
const recreate = append(1, "anew", { generation: "second" });
const copy: Act = (log) => log.copy("t", "copied", "copied");

/** Everything that can be seen of the storage. */
const sight = (log: ThreadLog): Promise<unknown> =>
  Promise.all([
    log.readTail("t"),
    log.list("t", { limit: 100 }),
    ...["write-4", "latest", "renamed"].map((name) => log.entry("t", name)),
    log.readRecords("t", { limit: 100 }),
    log.readTail("copied"),
    log.listThreads({ prefix: "", limit: 10 }),
  ]);

/** Kills the operation at its first call of that name. */
const killedAt =
  (call: string, act: Act): Act =>
  async (log) => {
    let isDead = false;
    const before = async (name: string): Promise<void> => {
      isDead ||= name === call;
      if (isDead) throw new Error("killed");
    };
    await expect(actors.run({ before }, () => act(log))).rejects.toThrow("killed");
  };

/** With 1 every append folds, so that each of its steps meets each step of the others. */
const FOLDINGS = [64, 1] as const;
type Open = (directory: string) => FileLog;
const opening =
  (foldEvery: number): Open =>
  (directory) =>
    new FileLog({ directory, foldEvery });

async function newDirectory(): Promise<string> {
  // In memory where there is such a place: thousands of runs need no disk to show in which order things happen.
  const directory = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "holdfast-steps-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** What is seen of the storage, and what the operations answered, when they run one after the other. */
async function sequence(open: Open, ...acts: Act[]): Promise<{ readonly answers: unknown[]; readonly end: unknown }> {
  const log = open(await newDirectory());
  const answers: unknown[] = [];
  for (const act of acts) answers.push(await act(log));
  return { answers, end: await sight(log) };
}

const unfinishedEdits = inTurn(fourRecords, killedAt("rename", append(5, "edits", EDITS)));
const unfinishedRemoval = inTurn(fourRecords, killedAt("rename", removeAtFour));

const crashes: Readonly<Record<string, { before: Act; act: Act }>> = {
  "the first append of a thread": { before: nothing, act: append(1, "write-1") },
  "an append": { before: fourRecords, act: append(5, "new") },
  "an append with edits": { before: fourRecords, act: append(5, "new", EDITS) },
  "the first append of several records": { before: nothing, act: several(1, "new") },
  "an append of several records": { before: fourRecords, act: several(5, "new") },
  "an append of several records with edits": { before: fourRecords, act: several(5, "new", EDITS) },
  "an append behind several records": { before: threeTogether, act: append(5, "new") },
  "a change of one of several records": { before: threeTogether, act: append(5, "new", ONE_OF_SEVERAL) },
  "a change of one of several records by several": { before: threeTogether, act: several(5, "new", ONE_OF_SEVERAL) },
  "a removal": { before: fourRecords, act: remove },
  "a removal on a condition": { before: fourRecords, act: removeAtFour },
  ...(process.platform === "linux" && {
    "a removal on a condition on a full disk": { before: fourRecords, act: removeAtFourOnFullDisk },
  }),
  "a copy": { before: fourRecords, act: copy },
  "an append behind unfinished edits": { before: unfinishedEdits, act: append(6, "new") },
  "a new thread after an unfinished removal": { before: unfinishedRemoval, act: append(1, "new") },
};

const eachWay = <Case>(cases: Readonly<Record<string, Case>>): (readonly [string, number, Case])[] =>
  Object.entries(cases).flatMap(([name, one]) => FOLDINGS.map((foldEvery) => [name, foldEvery, one] as const));

test.for(eachWay(crashes))(
  "killed at any step, %s is seen whole or not at all, folding every %d",
  { timeout: 120_000 },
  async ([, foldEvery, { before, act }]) => {
    const open = opening(foldEvery);
    const untouched = (await sequence(open, before)).end;
    const done = (await sequence(open, before, act)).end;
    for (let n = 1; ; n++) {
      const directory = await newDirectory();
      await before(open(directory));
      const victim = actor(n, () => Promise.reject(new Error("killed")));
      const answered = await actors
        .run(victim, () => act(open(directory)))
        .then(
          () => true,
          () => false,
        );
      const seen = await sight(open(directory));
      if (answered) expect(seen).toEqual(done);
      else expect([untouched, done]).toContainEqual(seen);

      // Whoever comes next is not hindered, and nothing that was left behind stays for ever.
      const next = open(directory);
      const tail = (await next.tail("t"))?.entry.seq ?? 0;
      expect(await append(tail + 1, "next")(next)).toEqual({ appended: true });
      expect((await next.tail("t"))?.entry.writeId).toBe("next");
      await letAnHourPass(directory);
      const later = open(directory);
      await append(tail + 2, "later")(later);
      expect(await leftovers(directory)).toEqual([]);
      if (!victim.isStopped) return expect(n).toBeGreaterThan(10);
    }
  },
);

async function letAnHourPass(directory: string): Promise<void> {
  const then = new Date(Date.now() - 61 * 60 * 1000);
  for (const name of await readdir(directory, { recursive: true })) await lutimes(join(directory, name), then, then);
}

async function leftovers(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((name) => /\.(tmp|trash)-/.test(name));
}

const markFive = append(5, "mark-5", { record: recordAt(5, { checkpointId: undefined, head: 4 }) });

/** The second runs between two steps of the first. Four records are there already, unless a third says otherwise. */
const pairs: Readonly<Record<string, readonly [first: Act, second: Act, before?: Act]>> = {
  "an append, another append": [append(5, "a"), append(5, "b")],
  "an append, one that leaves a gap where the first would go": [
    append(5, "a"),
    inTurn(markFive, append(6, "b", { drop: [5] })),
  ],
  "an append that has to look first, one that leaves such a gap": [
    append(5, "a"),
    inTurn(markFive, append(6, "b", { drop: [5] })),
    inTurn(fourRecords, append(3, "refused, after which the footing is forgotten")),
  ],
  "a removal on a condition, one that leaves such a gap": [
    removeAtFour,
    inTurn(markFive, append(6, "b", { drop: [5] })),
  ],
  "an append, edits": [append(5, "a"), append(5, "b", EDITS)],
  "edits, an append": [append(5, "a", EDITS), append(5, "b")],
  "edits, other edits": [
    append(5, "a", EDITS),
    append(5, "b", { drop: [3], replace: [recordAt(2, { writeId: "other" })] }),
  ],
  "edits, an append behind them that edits the same records": [
    append(5, "a", EDITS),
    append(6, "b", { drop: [3, 5], replace: [recordAt(4, { writeId: "other" })] }),
  ],
  "several records, one": [several(5, "a"), append(5, "b")],
  "one record, several": [append(5, "a"), several(5, "b")],
  "several records, others": [several(5, "a"), several(5, "b")],
  "several records, edits": [several(5, "a"), append(5, "b", EDITS)],
  "several records with edits, others behind them": [several(5, "a", EDITS), several(8, "b", { drop: [6] })],
  "several records, a removal and a new thread": [several(5, "a"), inTurn(remove, recreate)],
  "several records, a removal on a condition": [several(5, "a"), removeAtFour],
  "several records, others, behind unfinished edits": [several(6, "a"), several(6, "b"), unfinishedEdits],
  "an append, a change of one of several": [append(5, "a"), append(5, "b", ONE_OF_SEVERAL), threeTogether],
  "a change of one of several, an append": [append(5, "a", ONE_OF_SEVERAL), append(5, "b"), threeTogether],
  "a copy, a change of one of several": [copy, append(5, "b", ONE_OF_SEVERAL), threeTogether],
  "reading, several records": [(log) => log.readTail("t"), several(5, "b")],
  "reading, a change of one of several": [(log) => log.readTail("t"), append(5, "b", ONE_OF_SEVERAL), threeTogether],
  "reading a page, a change of one of several": [
    (log) => log.readRecords("t", { limit: 3 }),
    several(5, "b", ONE_OF_SEVERAL),
    threeTogether,
  ],
  "reading what is newer, a change of one of several": [
    (log) => log.readTail("t", { newerThan: { generation: "first", seq: 2 } }),
    append(5, "b", ONE_OF_SEVERAL),
    threeTogether,
  ],
  "an append, a removal": [append(5, "a"), remove],
  "an append, a removal and a new thread": [append(5, "a"), inTurn(remove, recreate)],
  "an append, a removal on a condition and a new thread": [append(5, "a"), inTurn(removeAtFour, recreate)],
  "edits, a removal and a new thread": [append(5, "a", EDITS), inTurn(remove, recreate)],
  "a removal, an append": [remove, append(5, "b")],
  "a removal, a removal and a new thread": [remove, inTurn(remove, recreate)],
  "a removal on a condition, an append": [removeAtFour, append(5, "b")],
  "a removal on a condition, edits": [removeAtFour, append(5, "b", EDITS)],
  "a removal on a condition, a removal and a new thread": [removeAtFour, inTurn(remove, recreate)],
  "a removal on a condition, the same and a new thread": [removeAtFour, inTurn(removeAtFour, recreate)],
  ...(process.platform === "linux" && {
    "a removal on a full disk, an append": [removeAtFourOnFullDisk, append(5, "b")] as const,
    "a removal on a full disk, edits": [removeAtFourOnFullDisk, append(5, "b", EDITS)] as const,
    "an append, a removal on a full disk and a new thread": [
      append(5, "a"),
      inTurn(removeAtFourOnFullDisk, recreate),
    ] as const,
  }),
  "a new thread, another": [recreate, append(1, "b", { generation: "third" }), nothing],
  "a new thread, another, where a removal was not finished": [
    recreate,
    append(1, "b", { generation: "third" }),
    unfinishedRemoval,
  ],
  "an append, a removal and a new thread, where a removal was not finished": [
    append(5, "a"),
    inTurn(remove, recreate),
    unfinishedRemoval,
  ],
  "an append, another, behind unfinished edits": [append(6, "a"), append(6, "b"), unfinishedEdits],
  "an append, edits, behind unfinished edits": [
    append(6, "a"),
    append(6, "b", { drop: [3, 5], replace: [recordAt(4, { writeId: "other" })] }),
    unfinishedEdits,
  ],
  "reading, an append, behind unfinished edits": [(log) => log.readTail("t"), append(6, "b"), unfinishedEdits],
  "a copy, edits": [copy, append(5, "b", EDITS)],
  "a copy, a removal and a new thread": [copy, inTurn(remove, recreate)],
  "a copy, a thread where it would go": [
    copy,
    (log) => log.append("copied", { generation: "b", expected: 0, record: recordAt(1, { writeId: "b" }) }),
  ],
  "reading, edits": [(log) => log.readTail("t"), append(5, "b", EDITS)],
  "reading, edits and more edits": [
    (log) => log.readTail("t"),
    inTurn(append(5, "b", EDITS), append(6, "c", { drop: [5], replace: [recordAt(3, { writeId: "again" })] })),
  ],
  "reading, edits that only replace": [(log) => log.readTail("t"), append(5, "b", REPLACING)],
  "listing, edits that only replace": [(log) => log.list("t", { limit: 100 }), append(5, "b", REPLACING)],
  "edits that only replace, an append": [append(5, "a", REPLACING), append(5, "b")],
  "a copy, edits that only replace": [copy, append(5, "b", REPLACING)],
  "reading by name, edits": [(log) => log.readCheckpoint("t", "write-4"), append(5, "b", EDITS)],
  "listing, edits": [(log) => log.list("t", { limit: 100 }), append(5, "b", EDITS)],
  "listing threads, a removal": [(log) => log.listThreads({ prefix: "", limit: 10 }), remove],
  "reading, a removal and a new thread": [(log) => log.readTail("t"), inTurn(remove, recreate)],
};

test.for(eachWay(pairs))(
  "whatever step is interrupted, two at once do what two in turn do: %s; folding every %d",
  { timeout: 120_000 },
  async ([, foldEvery, pair]) => {
    const open = opening(foldEvery);
    const [first, second, before = fourRecords] = pair;
    const orders = [await sequence(open, before, first, second), await sequence(open, before, second, first)];
    const allowed = orders.map(({ answers: [, one, two], end }, index) =>
      index === 0 ? [one, two, end] : [two, one, end],
    );
    for (let n = 1; ; n++) {
      const directory = await newDirectory();
      // The one that is interrupted has appended before, as an agent has: it remembers where it stood.
      const log = open(directory);
      await before(log);
      const pause = gate();
      const interrupted = actor(n, () => pause.promise);
      const work = actors.run(interrupted, () => first(log));
      await Promise.race([work, interrupted.stopped]);
      const other = await second(open(directory));
      pause.resolve();
      const outcome = [await work, other, await sight(open(directory))];
      expect(allowed, `interrupted before step ${n}`).toContainEqual(outcome);
      if (!interrupted.isStopped) return expect(n).toBeGreaterThan(2);
    }
  },
);

test("a listing that shows a name made while it ran, but not the one made before, misleads nobody", async () => {
  const log = new FileLog({ directory: await newDirectory() });
  await fourRecords(log);
  let isFirst = true;
  const after = (call: string, result: unknown): unknown => {
    const names = call === "readdir" && Array.isArray(result) ? (result as string[]) : [];
    if (!isFirst || !names.includes("0000000003.json")) return result;
    isFirst = false;
    return names.filter((name) => name !== "0000000003.json");
  };
  const seen = await actors.run({ before: async () => undefined, after }, () => log.readTail("t"));
  expect(isFirst).toBe(false);
  expect(seen?.records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
});

test("a listing that an edit overtook is not taken for damage", async () => {
  const directory = await newDirectory();
  const [log, other] = [new FileLog({ directory }), new FileLog({ directory })];
  await inTurn(...[1, 2, 3].map((seq) => append(seq, `write-${seq}`)))(log);
  const mark = (seq: number, head: number): Partial<AppendRequest> => ({
    record: recordAt(seq, { head, checkpointId: undefined }),
  });
  await append(4, "", mark(4, 3))(log);
  let isFirst = true;
  const after = async (call: string, result: unknown): Promise<unknown> => {
    const names = call === "readdir" && Array.isArray(result) ? (result as string[]) : [];
    if (!isFirst || !names.includes("0000000003.json")) return result;
    isFirst = false;
    await actors.exit(() => append(5, "", { ...mark(5, 2), drop: [3] })(other));
    return names.filter((name) => name !== "0000000003.json");
  };
  const readHead = (): Promise<LogEntry | undefined> =>
    readThread(new RootDirectory(directory), threadDirectoryName("t"), (snapshot) => snapshot.head());
  const seen = await actors.run({ before: async () => undefined, after }, readHead);
  expect(isFirst).toBe(false);
  expect(seen?.seq).toBe(2);
});
