import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { recordAt, requestFor, seqsOf, ThreadOnDisk } from "../../../test/file/thread-on-disk.ts";
import { places } from "../../../test/property-seed.ts";
import type { AppendRequest, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { placeAt } from "../../testing/thread-log-cases/sample-records.ts";

let thread: ThreadOnDisk;

beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  thread = new ThreadOnDisk(directory);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
});

/** Three records, the last of which has further names. */
const three = (seq: number): AppendRequest =>
  requestFor(recordAt(seq), { more: [recordAt(seq + 1), recordAt(seq + 2, { names: ["latest", "writes"] })] });

/** Every kind of read of a thread. */
const questions = (log: ThreadLog): readonly (() => Promise<unknown>)[] => [
  () => log.readTail("t"),
  () => log.tail("t"),
  () => log.list("t", { limit: 9 }),
  () => log.entry("t", "latest"),
  () => log.readRecords("t", { limit: 9 }),
];

test("several records are one file that a person can read, and one line each when they are folded", async () => {
  const log = thread.open();
  await log.append("t", requestFor(recordAt(1)));
  await log.append("t", three(2));
  await log.append("t", requestFor(recordAt(5)));
  expect(thread.files()).toEqual(["0000000001.json", "0000000002.json", "0000000005.json"]);
  const shown = JSON.parse(readFileSync(join(thread.path(), "0000000002.json"), "utf8")) as object;
  expect(shown).toMatchObject({
    seq: 2,
    upTo: 4,
    body: { of: 2 },
    more: [
      { seq: 3, body: { of: 3 } },
      { seq: 4, names: ["latest", "writes"], body: { of: 4 } },
    ],
  });
  const before = await Promise.all(questions(log).map((ask) => ask()));
  await log.close();
  expect(thread.files()).toEqual(["0000000001-0000000005.json"]);
  expect(await Promise.all(questions(thread.open()).map((ask) => ask()))).toEqual(before);
});

test("a file of several records that is cut or changed at any byte is reported as damaged, and a part of it is never taken for the whole", async () => {
  const log = thread.open();
  await log.append("t", requestFor(recordAt(1)));
  await log.append("t", three(2));
  const intact = await Promise.all(questions(log).map((ask) => ask()));
  const path = join(thread.path(), "0000000002.json");
  const bytes = readFileSync(path);
  const found = { cut: 0, changed: 0 };
  for (const at of places(bytes.length)) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    for (const [how, damaged] of [["cut", bytes.subarray(0, at)] as const, ["changed", changed] as const]) {
      writeFileSync(path, damaged);
      for (const [index, ask] of questions(thread.open()).entries()) {
        const answer = await ask().catch((error: unknown) => error);
        if (!(answer instanceof Error)) expect(answer, `${how} at ${at}`).toEqual(intact[index]);
        else {
          expect(answer, `${how} at ${at}`).toMatchObject({ code: "CORRUPT" });
          found[how]++;
        }
      }
    }
  }
  expect(found.cut).toBeGreaterThan(bytes.length / 3);
  expect(found.changed).toBeGreaterThan(bytes.length / 3);
});

test("names are found in a history that an editor reformatted, and one that was changed by hand is damage", async () => {
  const log = thread.open();
  await log.append("t", three(1));
  await log.append("t", requestFor(recordAt(4, { checkpointId: undefined, head: 3, names: ["mark"] })));
  await log.close();
  const text = readFileSync(thread.segment(), "utf8");
  writeFileSync(thread.segment(), JSON.stringify(JSON.parse(text), undefined, 2));
  expect((await thread.open().entry("t", "writes"))?.seq).toBe(3);
  expect(await thread.open().entry("t", "mark")).toMatchObject({ seq: 4, names: ["mark"] });
  // The index holds nothing that the lines do not: it is rebuilt from them.
  writeFileSync(thread.segment(), text.replace(/writes(?!.*writes)/s, "taken"));
  expect((await thread.open().entry("t", "writes"))?.seq).toBe(3);
  expect(await thread.open().entry("t", "taken")).toBeUndefined();
  for (const changed of [text.replace("writes", "writex"), text.replaceAll("writes", "taken")]) {
    writeFileSync(thread.segment(), changed);
    expect(await failureOf(() => thread.open().entry("t", "writes"))).toMatchObject({ code: "CORRUPT" });
  }
});

test("what is newer than a known place, and the newest records, are read without the history before the place", async () => {
  const log = thread.open();
  await thread.fill(log, 64, { body: Buffer.alloc(8192, "x") });
  await log.append("t", three(65));
  await log.append("t", requestFor(recordAt(68)));
  // Reading it would report damage.
  writeFileSync(thread.segment(), "gone");
  const reader = thread.open();
  const seqs = async (seq: number): Promise<number[]> =>
    seqsOf((await reader.readTail("t", { newerThan: placeAt(seq) }))?.records);
  expect(await seqs(65)).toEqual([66, 67, 68]);
  expect(await seqs(67)).toEqual([68]);
  expect(await seqs(68)).toEqual([]);
  expect(seqsOf((await reader.readRecords("t", { limit: 3 }))?.records)).toEqual([66, 67, 68]);
  expect(seqsOf((await reader.readRecords("t", { limit: 1, before: 67 }))?.records)).toEqual([66]);
  expect(await failureOf(() => seqs(64))).toMatchObject({ code: "CORRUPT" });
  expect(await failureOf(() => reader.readRecords("t", { limit: 5 }))).toMatchObject({ code: "CORRUPT" });
});

test("several records at a time are folded as often as single ones", async () => {
  const log = thread.open(8);
  for (let seq = 1; seq <= 60; seq += 3) {
    await log.append("t", three(seq));
    expect(thread.files().filter((name) => !name.includes("-")).length).toBeLessThanOrEqual(3);
  }
  expect(seqsOf((await log.readTail("t"))?.records)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
});

test("a thread that was made by several records is folded when it is closed, so that one is found without the others", async () => {
  const log = thread.open();
  await log.append("t", three(1));
  expect(thread.files()).toEqual(["0000000001.json"]);
  await log.close();
  expect(thread.files()).toEqual(["0000000001-0000000003.json"]);
  expect((await thread.open().tail("t"))?.entry.seq).toBe(3);
});
