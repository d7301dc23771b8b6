/**
 * Every call into the file system is a step. An operation is stopped before each
 * of its steps in turn: for good, as by kill -9, or until another operation has
 * run in between. The files are real. A file of tests that uses this replaces
 * the modules of the file system by stepwise ones.
 */

import { existsSync } from "node:fs";
import { lutimes, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileLog } from "../../src/backends/file/log.ts";
import type { LogRecord, ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import {
  placeAt,
  type RequestFields,
  recordAt,
  requestFor,
} from "../../src/testing/thread-log-cases/sample-records.ts";
import { actors } from "./stepwise.ts";

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

export type Act = (log: ThreadLog) => Promise<unknown>;

export const append =
  (seq: number, writeId: string, fields: RequestFields = {}): Act =>
  (log) =>
    log.append("t", requestFor(recordAt(seq, { writeId, checkpointId: writeId }), fields));

/** Which write the next append goes behind. */
const tailWrite = async (log: ThreadLog): Promise<string> => (await log.tail("t"))?.entry.writeId ?? "";

export const inTurn =
  (...acts: Act[]): Act =>
  async (log) => {
    const outcomes: unknown[] = [];
    for (const act of acts) outcomes.push(await act(log));
    return outcomes;
  };

export const nothing: Act = async () => undefined;
export const EDITS: RequestFields = {
  replace: [recordAt(3, { writeId: "rewritten" })],
  drop: [2],
  dropBelow: 2,
};
export const fourRecords: Act = inTurn(...[1, 2, 3, 4].map((seq) => append(seq, `write-${seq}`)));
export const remove: Act = (log) => log.remove("t");
export const removeAtFour: Act = (log) => log.remove("t", placeAt(4));
/** The same, on a disk where no byte can be written. */
export const removeAtFourOnFullDisk: Act = (log) => {
  const outer = actors.getStore();
  const before = async (call: string, path?: unknown): Promise<void> => {
    await outer?.before(call, path);
    if (call === "write") throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  };
  return actors.run({ before }, () => removeAtFour(log));
};
export const recreate: Act = append(1, "anew", { generation: "second" });
export const copy: Act = (log) => log.copy("t", "copied", "copied");

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
export const killedAt =
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

export async function newDirectory(): Promise<string> {
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

export const unfinishedEdits: Act = inTurn(fourRecords, killedAt("rename", append(5, "edits", EDITS)));

const recordsFrom = (seq: number, ...writeIds: string[]): LogRecord[] =>
  writeIds.map((writeId, index) => recordAt(seq + index, { writeId, checkpointId: writeId }));
/** Three records at once; the last has a further name. */
export const several = (seq: number, writeId: string, fields: RequestFields = {}): Act => {
  const last = recordAt(seq + 2, { writeId: `${writeId}-last`, names: ["latest"] });
  return append(seq, writeId, { more: [...recordsFrom(seq + 1, `${writeId}-second`), last], ...fields });
};
/** Also four records, three of them in one file. */
export const threeTogether: Act = inTurn(
  append(1, "write-1"),
  append(2, "write-2", { more: recordsFrom(3, "write-3", "write-4") }),
);
export const ONE_OF_SEVERAL: RequestFields = {
  replace: [recordAt(3, { writeId: "rewritten", names: ["renamed"] })],
  drop: [2],
};

export type Crashes = Readonly<Record<string, { readonly before: Act; readonly act: Act }>>;

/** The second runs between two steps of the first. Four records are there already, unless a third says otherwise. */
export type Pairs = Readonly<Record<string, readonly [first: Act, second: Act, before?: Act]>>;

const eachWay = <Case>(cases: Readonly<Record<string, Case>>): (readonly [string, number, Case])[] =>
  Object.entries(cases).flatMap(([name, one]) => FOLDINGS.map((foldEvery) => [name, foldEvery, one] as const));

/** Registers a test for each of them. Before every step in turn, it is killed there. */
export function testKilledAtAnyStep(crashes: Crashes): void {
  test.for(eachWay(crashes))(
    `killed at any step, %s is seen whole or not at all, folding every %d`,
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

        // The next process is not hindered, and nothing that was left behind stays for ever.
        const next = open(directory);
        const tail = (await next.tail("t"))?.entry.seq ?? 0;
        expect(await append(tail + 1, "next", { after: await tailWrite(next) })(next)).toEqual({ appended: true });
        expect((await next.tail("t"))?.entry.writeId).toBe("next");
        await letAnHourPass(directory);
        const later = open(directory);
        await append(tail + 2, "later", { after: "next" })(later);
        expect(await leftovers(directory)).toEqual([]);
        if (!victim.isStopped) return expect(n).toBeGreaterThan(10);
      }
    },
  );
}

async function letAnHourPass(directory: string): Promise<void> {
  const then = new Date(Date.now() - 61 * 60 * 1000);
  for (const name of await readdir(directory, { recursive: true })) await lutimes(join(directory, name), then, then);
}

async function leftovers(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((name) => /\.(tmp|trash)-/.test(name));
}

/** Registers a test for each of them. */
export function testTwoAtOnce(pairs: Pairs): void {
  test.for(eachWay(pairs))(
    `whatever step is interrupted, two at once do what two in turn do: %s; folding every %d`,
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
}
