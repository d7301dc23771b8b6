import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { StateError } from "../../errors.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { SqliteLog } from "./log.ts";
import { openDatabase } from "./open-file.ts";
import { sqliteLogOptions } from "./options.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-damaged-ids-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Enough that the table of threads has several pages, and ids of some lie above the others. */
const THREADS = 300;
const idOf = (index: number): string => `user/${String(index * 7).padStart(4, "0")}`;
const openLog = (path: string): SqliteLog => new SqliteLog(sqliteLogOptions({ path }));

const path = join(folder, "whole.db");

/** Where a row has its id in the file. */
interface Place {
  readonly at: number;
  /** The row lies above others: a lookup of one of those passes it. */
  readonly isAbove: boolean;
}

async function placesOfIds(): Promise<ReadonlyMap<string, Place>> {
  const log = openLog(path);
  await Promise.all(Array.from({ length: THREADS }, (_, at) => log.append(idOf(at), requestFor(recordAt(1)))));
  await log.close();
  const database = await openDatabase(path);
  const pages = database.prepare("SELECT pageno, pagetype FROM dbstat WHERE name = 'holdfast_threads'").all() as {
    pageno: number;
    pagetype: string;
  }[];
  const { page_size: size } = database.prepare("PRAGMA page_size").get() as { page_size: number };
  database.close();
  const bytes = readFileSync(path);
  const places = new Map<string, Place>();
  for (const { pageno, pagetype } of pages) {
    for (let index = 0; index < THREADS; index++) {
      const at = bytes.subarray((pageno - 1) * size, pageno * size).indexOf(idOf(index));
      if (at >= 0) places.set(idOf(index), { at: (pageno - 1) * size + at, isAbove: pagetype === "internal" });
    }
  }
  expect(pages.length).toBeGreaterThan(3);
  expect(places.size).toBe(THREADS);
  return places;
}

const codeOf = (error: unknown): unknown => (StateError.is(error) ? error.code : error);

/** How each question about a thread is answered: by what was found, or by a code. */
async function answersOf(log: SqliteLog, threadId: string): Promise<readonly unknown[]> {
  const questions = [
    async () => (await log.tail(threadId))?.entry.seq,
    async () => (await log.readTail(threadId))?.records.length,
    async () => (await log.append(threadId, requestFor(recordAt(1)))).appended,
  ];
  const answers: unknown[] = [];
  for (const question of questions) {
    answers.push(await question().catch(codeOf));
  }
  return answers;
}

test("whichever bit of a stored thread id is flipped, no thread is taken for one that is not there", async () => {
  const places = await placesOfIds();
  const damaged = join(folder, "damaged.db");
  const neighbours = [...places.keys()].sort();
  let found = 0;
  for (const [position, threadId] of neighbours.entries()) {
    const place = places.get(threadId);
    // A different bit of each: all bits of all characters come up.
    if (place === undefined || !(place.isAbove || position % 3 === 0)) continue;
    const bit = Math.floor(position / 3) % (8 * threadId.length);
    copyFileSync(path, damaged);
    const bytes = readFileSync(damaged);
    const at = place.at + (bit >> 3);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(damaged, bytes);
    const log = openLog(damaged);
    for (const asked of neighbours.slice(Math.max(0, position - 2), position + 3)) {
      const [tail, ...others] = await answersOf(log, asked);
      const isFound = asked !== threadId && tail === 1;
      expect([tail, ...others], `${asked}, bit ${bit} of ${threadId}`).toEqual(
        isFound ? [1, 1, false] : ["CORRUPT", "CORRUPT", "CORRUPT"],
      );
      const copied = log.copy(idOf((position + 150) % THREADS), asked, "another");
      expect(await copied.catch(codeOf)).toBeOneOf(["target exists", "CORRUPT"]);
      if (tail === "CORRUPT") found++;
    }
    expect(await log.remove(threadId).catch(codeOf)).toBe("CORRUPT");
    await log.close();
  }
  // Some others, too, are not found any more.
  expect(found).toBeGreaterThan(THREADS / 3);
});

test("a damaged row beside its place keeps no new thread from being made", async () => {
  const file = join(folder, "beside.db");
  const log = openLog(file);
  for (const threadId of ["a", "c", "e"]) await log.append(threadId, requestFor(recordAt(1)));
  const database = await openDatabase(file);
  database.exec("UPDATE holdfast_threads SET sum = sum + 1 WHERE thread_id = 'c'");
  database.close();
  for (const threadId of ["b", "d", "0", "f"]) {
    expect(await log.tail(threadId)).toBeUndefined();
    expect(await log.append(threadId, requestFor(recordAt(1)))).toEqual({ appended: true });
  }
  await log.close();
});

test("whichever bit of the index of checkpoint ids is flipped, no checkpoint is taken for one that is not there", async () => {
  const whole = join(folder, "names.db");
  const log = openLog(whole);
  const nameOf = (index: number): string => `step/${String(index * 7).padStart(4, "0")}`;
  const THREADS_WITH_NAMES = 3;
  const NAMES = 100;
  for (let thread = 0; thread < THREADS_WITH_NAMES; thread++) {
    for (let index = 0; index < NAMES; index++) {
      const seq = index + 1;
      const record = { ...recordAt(seq), checkpointId: nameOf(index) };
      expect((await log.append(`t${thread}`, requestFor(record))).appended).toBe(true);
    }
  }
  await log.close();
  const database = await openDatabase(whole);
  const pages = database.prepare("SELECT pageno FROM dbstat WHERE name = 'holdfast_records_by_checkpoint'").all() as {
    pageno: number;
  }[];
  const { page_size: size } = database.prepare("PRAGMA page_size").get() as { page_size: number };
  database.close();
  const bytes = readFileSync(whole);
  let flips = 0;
  let noticed = 0;
  for (const { pageno } of pages) {
    const page = bytes.subarray((pageno - 1) * size, pageno * size);
    for (let index = 0, at = 0; index < NAMES; index++) {
      at = page.indexOf(nameOf(index));
      if (at < 0) continue;
      // A bit of the name, and one of the record's number behind it.
      for (const offset of [index % nameOf(0).length, nameOf(0).length + (index % 4)]) {
        const damaged = Buffer.from(bytes);
        const place = (pageno - 1) * size + at + offset;
        damaged[place] = (damaged[place] ?? 0) ^ (1 << (index % 7));
        const file = join(folder, "names-damaged.db");
        writeFileSync(file, damaged);
        const opened = openLog(file);
        flips++;
        for (let thread = 0; thread < THREADS_WITH_NAMES; thread++) {
          for (const near of [index - 1, index, index + 1].filter((one) => one >= 0 && one < NAMES)) {
            const answer = await opened
              .readCheckpoint(`t${thread}`, nameOf(near))
              .then((chain) => chain?.records.at(-1)?.seq, codeOf);
            expect(answer, `t${thread} ${nameOf(near)}, byte ${offset} of ${nameOf(index)}`).toBeOneOf([
              near + 1,
              "CORRUPT",
            ]);
            if (answer === "CORRUPT") noticed++;
          }
        }
        await opened.close();
      }
    }
  }
  expect(flips).toBeGreaterThan(100);
  expect(noticed).toBeGreaterThan(50);
  const sound = openLog(whole);
  expect(await sound.readCheckpoint("t1", "step/0001")).toBeUndefined();
  expect(await sound.readCheckpoint("t1", "zzz")).toBeUndefined();
  expect(await sound.readCheckpoint("t1", "")).toBeUndefined();
  await sound.close();
});
