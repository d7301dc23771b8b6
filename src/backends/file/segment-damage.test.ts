import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { recordAt, requestFor, seqsOf, ThreadOnDisk } from "../../../test/file/thread-on-disk.ts";
import { places } from "../../../test/property-seed.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";

let directory: string;
let thread: ThreadOnDisk;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  thread = new ThreadOnDisk(directory);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
});

const damagedWith = async (act: () => Promise<unknown>): Promise<StateError | "the same"> => {
  try {
    await act();
    return "the same";
  } catch (error) {
    if (StateError.is(error)) return error;
    throw error;
  }
};

test("a segment that is cut off, or has any bit flipped, is reported as damaged, or reads the same", async () => {
  const log = thread.open();
  await thread.fill(log, 2);
  await log.close();
  const path = thread.segment();
  const bytes = readFileSync(path);
  const read = async (): Promise<unknown> => {
    const fresh = thread.open();
    const chain = await fresh.readTail("t");
    return [await fresh.list("t", { limit: 10 }), { ...chain, records: chain?.records.map(shown) }];
  };
  const shown = ({ body, ...entry }: LogRecord): unknown => ({ ...entry, body: Buffer.from(body).toString() });
  const intact = await read();
  const location = path.slice(directory.length + 1).replaceAll("\\", "/");
  const provesDamage = async (changed: Buffer): Promise<boolean> => {
    writeFileSync(path, changed);
    const outcome = await damagedWith(async () => expect(await read()).toEqual(intact));
    if (outcome === "the same") return false;
    expect(outcome).toMatchObject({ code: "CORRUPT", context: { location } });
    return true;
  };
  // The newline at the end carries no information.
  for (const length of places(bytes.length - 1)) {
    expect(await provesDamage(bytes.subarray(0, length)), `cut off at ${length}`).toBe(true);
  }
  const harmless: number[] = [];
  for (const place of places(bytes.length)) {
    const changed = Buffer.from(bytes);
    changed[place]! ^= 1 << (place % 8);
    if (!(await provesDamage(changed))) harmless.push(place);
  }
  // The bytes between two lines are never read, and the index can be rebuilt from the records.
  const inRecords = harmless.filter((place) => place < bytes.indexOf('],"index"'));
  for (const place of inRecords) expect(String.fromCharCode(bytes[place]!)).toMatch(/[\s,]/);
});

test("a segment that an editor or git reformatted still loads, and can be added to and edited", async () => {
  for (const reformat of [
    (text: string): string => text.replaceAll("\n", "\r\n"),
    (text: string): string => JSON.stringify(JSON.parse(text), undefined, 2),
    (text: string): string => JSON.stringify(JSON.parse(text)),
  ]) {
    const log = thread.open();
    await thread.fill(log, 3, { metadata: '{"a":1,"header":{"b":2}}' });
    await log.close();
    const path = thread.segment();
    await writeFile(path, reformat(await readFile(path, "utf8")));
    const later = thread.open();
    expect((await later.readTail("t"))?.records.map(({ body }) => Buffer.from(body).toString())).toEqual([
      '{"of":1}',
      '{"of":2}',
      '{"of":3}',
    ]);
    await later.append("t", requestFor(recordAt(4), { drop: [2] }));
    await later.append("t", requestFor(recordAt(5)));
    await later.close();
    expect(seqsOf(await thread.open().list("t", { limit: 10 }))).toEqual([5, 4, 3, 1]);
    await thread.open().remove("t");
  }
});

test("a segment of another thread, of an earlier one, of another range or of a newer version is reported as such", async () => {
  for (const id of ["t", "other"]) {
    const log = thread.open();
    for (const seq of [1, 2]) await log.append(id, requestFor(recordAt(seq)));
    await log.close();
  }
  const path = thread.segment();
  const own = await readFile(path);
  const location = path.slice(directory.length + 1).replaceAll("\\", "/");
  await writeFile(path, await readFile(thread.segment("other")));
  await expect(thread.open().readTail("t")).rejects.toMatchObject({ code: "CORRUPT", context: { location } });
  await writeFile(path, own.toString().replace('"format":1,"thread"', '"format":2,"threadName"'));
  await expect(thread.open().readTail("t")).rejects.toMatchObject({ code: "INCOMPATIBLE" });
  await writeFile(path, own);
  await rename(path, join(thread.path(), "0000000001-0000000003.json"));
  await expect(thread.open().readTail("t")).rejects.toThrow(/the segment of 1 to 2/);
  await rename(join(thread.path(), "0000000001-0000000003.json"), join(thread.path(), "0000000002-0000000003.json"));
  await expect(thread.open().readTail("t")).rejects.toThrow(/misses the records from 1 to 1/);
  expect(await thread.open().remove("t")).toBe("removed");
  await thread.open().append("t", requestFor(recordAt(1), { generation: "second" }));
  await writeFile(join(thread.path(), "0000000001-0000000002.json"), own);
  await expect(thread.open().readTail("t")).rejects.toThrow(/earlier thread of the same id/);
});

test("a store that git restored, without its empty directories, can be read and written", async () => {
  const log = thread.open();
  await thread.fill(log, 3);
  for (const name of readdirSync(thread.path()).filter((one) => one.startsWith("."))) {
    await rm(join(thread.path(), name), { recursive: true });
  }
  const later = thread.open();
  expect(seqsOf(await later.list("t", { limit: 10 }))).toEqual([3, 2, 1]);
  await later.append("t", requestFor(recordAt(4), { drop: [2] }));
  await later.close();
  expect(seqsOf(await thread.open().list("t", { limit: 10 }))).toEqual([4, 3, 1]);
});

test("a history that cannot be folded is left unchanged, and appends go on", async () => {
  const log = thread.open(4);
  await thread.fill(log, 3);
  await writeFile(join(thread.path(), "0000000002.json"), "damaged");
  for (let seq = 4; seq <= 9; seq++) {
    expect(await log.append("t", requestFor(recordAt(seq, { base: seq })))).toEqual({ appended: true });
  }
  expect(thread.files()).toHaveLength(9);
  await expect(log.list("t", { limit: 10 })).rejects.toMatchObject({ code: "CORRUPT" });
  await log.close();
  expect((await thread.open().readTail("t"))?.tail.seq).toBe(9);
});

test("a damaged segment is left unchanged, and the newest records are folded after it", async () => {
  const again = thread.open(4);
  await thread.fill(again, 5);
  await writeFile(thread.segment(), "damaged");
  for (let seq = 6; seq <= 8; seq++) {
    expect(await again.append("t", requestFor(recordAt(seq, { base: 5 })))).toEqual({ appended: true });
  }
  expect(thread.files()).toEqual(["0000000001-0000000004.json", "0000000005-0000000008.json"]);
  expect(seqsOf((await thread.open().readTail("t"))?.records)).toEqual([5, 6, 7, 8]);
});
