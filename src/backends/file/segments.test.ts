import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { recordAt, requestFor, seqsOf, ThreadOnDisk } from "../../../test/file/thread-on-disk.ts";
import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { AgentState } from "../../state/agent-state.ts";
import { FileCheckpointer } from "./index.ts";
import { segmentFileName } from "./layout.ts";
import { rawLines, segmentText } from "./segment-file.ts";
import { renderLine } from "./segment-line.ts";

/** How many files were opened for reading, and how many bytes were read. */
const reads = vi.hoisted(() => ({ files: 0, bytes: 0 }));
vi.mock("./read-file.ts", async (original) => {
  const real = await original<typeof import("./read-file.ts")>();
  const counted =
    <Args extends unknown[]>(read: (...args: Args) => Promise<Buffer>, files: number) =>
    async (...args: Args): Promise<Buffer> => {
      const found = await read(...args);
      reads.files += files;
      reads.bytes += found.byteLength;
      return found;
    };
  return {
    ...real,
    readWholeFile: counted(real.readWholeFile, 1),
    readBeginning: counted(real.readBeginning, 1),
    readAt: counted(real.readAt, 0),
    openFile: (path: string) => {
      reads.files++;
      return real.openFile(path);
    },
  };
});

let directory: string;
let thread: ThreadOnDisk;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  thread = new ThreadOnDisk(directory);
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
});

test("after 64 records the newest are folded into one file, a JSON document with a line for each", async () => {
  const log = thread.open();
  await thread.fill(log, 70);
  expect(thread.files()).toEqual([
    "0000000001-0000000064.json",
    ...[65, 66, 67, 68, 69, 70].map((seq) => `00000000${seq}.json`),
  ]);
  const text = await readFile(thread.segment(), "utf8");
  expect(JSON.parse(text)).toMatchObject({ format: 1, thread: "t", from: 1, to: 64 });
  const lines = text.split("\n").filter((line) => line.startsWith('{"seq"'));
  expect(lines.map((line) => (JSON.parse(line.replace(/,$/, "")) as { body: unknown }).body)).toEqual(
    Array.from({ length: 64 }, (_, index) => ({ of: index + 1 })),
  );
  expect(statSync(thread.segment()).mode & 0o777).toBe(0o600);
});

test("after close() a thread is one file, and it continues from there", async () => {
  const checkpointer = new FileCheckpointer({ directory });
  let state = AgentState.create();
  for (let step = 0; step < 10; step++) {
    state = state.withMessage({ role: "user", content: `step ${step}` });
    await checkpointer.save(state, "t");
  }
  await checkpointer.close();
  expect(thread.files()).toEqual(["0000000001-0000000010.json"]);
  const later = new FileCheckpointer({ directory });
  const loaded = await later.load("t");
  expect(loaded?.fields).toEqual(state.fields);
  await later.save((loaded ?? state).withMessage({ role: "user", content: "more" }), "t");
  expect(await later.listCheckpoints("t", { limit: 100 })).toHaveLength(11);
  await later.close();
  expect(thread.files()).toEqual(["0000000001-0000000011.json"]);
});

test("a long history is a few files, and adding to it rewrites no large one", async () => {
  const log = thread.open(4);
  let written = 0;
  let before = new Map<string, number>();
  for (let seq = 1; seq <= 200; seq++) {
    await log.append("t", requestFor(recordAt(seq, { base: seq, body: Buffer.from(`"${"x".repeat(20_000)}"`) })));
    const now = new Map(thread.files().map((name) => [name, statSync(join(thread.path(), name)).size]));
    for (const [name, size] of now) if (name.includes("-") && !before.has(name)) written += size;
    before = now;
  }
  const total = [...before.values()].reduce((sum, size) => sum + size, 0);
  expect(before.size).toBeLessThan(12);
  // Each byte is copied about as often as the history doubled.
  expect(written / total).toBeLessThan(6);
  expect(seqsOf(await thread.open().list("t", { limit: 1000 }))).toHaveLength(200);
});

/** A thread of 20,000 checkpoints as folding leaves it, made quickly. */
async function longThread(count: number): Promise<void> {
  const log = thread.open();
  await thread.fill(log, 1);
  const owner = JSON.parse(await readFile(join(thread.path(), "0000000001.json"), "utf8")) as Record<string, string>;
  const { thread: threadId = "", generation = "", log: name = "" } = owner;
  const header = JSON.stringify({ kind: "delta", createdAt: 1794712839643, bytes: 69, note: "x".repeat(200) });
  const body = Buffer.from(JSON.stringify({ delta: { append: { messages: ["x".repeat(500)] } } }));
  const lines = Array.from({ length: count }, (_, index) =>
    renderLine(recordAt(index + 1, { base: Math.max(1, count - 100), header, body })),
  );
  const range = { from: 1, to: count };
  const text = segmentText({ threadId, generation, log: name, ...range }, parts(rawLines(lines)));
  await writeFile(join(thread.path(), segmentFileName(range)), text, { mode: 0o600 });
  await unlink(join(thread.path(), "0000000001.json"));
}

async function* parts<T>(...all: T[]): AsyncGenerator<T, void, undefined> {
  yield* all;
}

test("20,000 checkpoints are two files of at most twice their bytes; each page opens them once and reads what it gives", async () => {
  await longThread(20_000);
  const log = thread.open();
  await log.append("t", requestFor(recordAt(20_001)));
  expect(await log.tail("t")).toMatchObject({ entry: { seq: 20_001 } });
  const sizes = readdirSync(directory, { recursive: true }).map((name) => statSync(join(directory, String(name))));
  const bytes = sizes.filter((file) => file.isFile()).reduce((sum, { size }) => sum + size, 0);
  const blocks = sizes.reduce((sum, file) => sum + file.blocks * 512, 0);
  expect(sizes.filter((file) => file.isFile())).toHaveLength(2);
  expect(blocks).toBeLessThan(2 * bytes);

  const fresh = thread.open();
  Object.assign(reads, { files: 0, bytes: 0 });
  await fresh.list("t", { limit: 10 });
  // The newest record, the index, and ten lines.
  expect(reads.files).toBe(2);
  expect(reads.bytes).toBeLessThan(bytes / 10);

  Object.assign(reads, { files: 0, bytes: 0 });
  const all: number[] = [];
  for (let before = 20_002; before > 1; before = all.at(-1) ?? 0) {
    all.push(...seqsOf(await fresh.list("t", { before, limit: 1000 })));
  }
  expect(all).toEqual(Array.from({ length: 20_001 }, (_, index) => 20_001 - index));
  expect(reads.files).toBeLessThan(50);
  expect(reads.bytes).toBeLessThan(bytes * 1.1);

  Object.assign(reads, { files: 0, bytes: 0 });
  expect(seqsOf((await thread.open().readTail("t"))?.records)).toHaveLength(20_001);
  expect(reads.files).toBeLessThan(5);
  expect(await log.entry("t", "checkpoint-7")).toMatchObject({ seq: 7 });
  expect(await log.entry("t", "not there")).toBeUndefined();
  expect(seqsOf((await log.readCheckpoint("t", "checkpoint-20000"))?.records)).toHaveLength(101);
});

test("what was deleted, replaced or vacuumed is gone from every file of the directory", async () => {
  const log = thread.open(4);
  const secret = (name: string): Partial<LogRecord> => ({ body: Buffer.from(`{"secret":"${name}"}`) });
  for (let seq = 1; seq <= 10; seq++) await log.append("t", requestFor(recordAt(seq, secret(`number-${seq}-`))));
  expect(await bytesWith("number-2-")).toBe(1);
  await log.append("t", requestFor(recordAt(11), { drop: [2], replace: [recordAt(3, secret("changed-"))] }));
  expect(await bytesWith("number-2-")).toBe(0);
  expect(await bytesWith("number-3-")).toBe(0);
  expect(await bytesWith("changed-")).toBe(1);
  expect(seqsOf(await log.list("t", { limit: 100 }))).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 1]);
  await log.append("t", requestFor(recordAt(12), { dropBelow: 9, replace: [recordAt(9, secret("kept-"))] }));
  for (const name of ["changed-", "number-4-", "number-8-", "number-9-"]) expect(await bytesWith(name)).toBe(0);
  expect(await bytesWith("kept-")).toBe(1);
  expect(thread.files()).toEqual(["0000000001-0000000012.json"]);
  expect(seqsOf(await log.list("t", { limit: 100 }))).toEqual([12, 11, 10, 9]);
});

/** How many files contain the text. */
async function bytesWith(text: string): Promise<number> {
  const names = await readdir(directory, { recursive: true });
  return names.filter((name) => {
    const path = join(directory, name);
    return statSync(path).isFile() && readFileSync(path).includes(text);
  }).length;
}

test("records that a killed folding left twice count once, and the copies go with the next edit", async () => {
  const log = thread.open();
  await thread.fill(log, 3);
  const loose = await readFile(join(thread.path(), "0000000002.json"));
  await log.close();
  expect(thread.files()).toEqual(["0000000001-0000000003.json"]);
  await writeFile(join(thread.path(), "0000000002.json"), loose);
  const later = thread.open();
  expect(seqsOf(await later.list("t", { limit: 10 }))).toEqual([3, 2, 1]);
  await later.append("t", requestFor(recordAt(4), { drop: [2] }));
  expect(thread.files()).toEqual(["0000000001-0000000003.json", "0000000004.json"]);
  expect(seqsOf(await later.list("t", { limit: 10 }))).toEqual([4, 3, 1]);
});

test("segments that overlap are read, copied, edited and joined as one history", async () => {
  await thread.fill(thread.open(), 6);
  const owner = { threadId: "t", generation: "first", log: thread.path().slice(-16) };
  for (const range of [
    { from: 1, to: 4 },
    { from: 3, to: 6 },
  ]) {
    const seqs = [1, 2, 3, 4, 5, 6].filter((seq) => seq >= range.from && seq <= range.to);
    const text = segmentText({ ...owner, ...range }, parts(rawLines(seqs.map((seq) => renderLine(recordAt(seq))))));
    await writeFile(join(thread.path(), segmentFileName(range)), text);
  }
  for (const name of thread.files().filter((one) => !one.includes("-"))) await unlink(join(thread.path(), name));
  const log = thread.open();
  expect(seqsOf(await log.list("t", { limit: 10 }))).toEqual([6, 5, 4, 3, 2, 1]);
  expect(seqsOf((await log.readTail("t"))?.records)).toEqual([1, 2, 3, 4, 5, 6]);
  await log.copy("t", "copied", "copied");
  expect(seqsOf((await log.readTail("copied"))?.records)).toEqual([1, 2, 3, 4, 5, 6]);
  await log.append("t", requestFor(recordAt(7), { drop: [4], replace: [recordAt(3, { writeId: "other" })] }));
  expect((await log.readTail("t"))?.records.map(({ writeId }) => writeId)).toEqual([
    "write-1",
    "write-2",
    "other",
    "write-5",
    "write-6",
    "write-7",
  ]);
  await log.close();
  expect(thread.files()).toEqual(["0000000001-0000000007.json"]);
  expect(seqsOf(await thread.open().list("t", { limit: 10 }))).toEqual([7, 6, 5, 3, 2, 1]);
});

test("a checkpointer over short folds keeps a conversation through vacuum, deletion and forks", async () => {
  const checkpointer = new Checkpointer(thread.open(3));
  let state = AgentState.create();
  for (let step = 1; step <= 20; step++) {
    state = state.withMessage({ role: "user", content: `step ${step}` });
    await checkpointer.save(state, "t", { checkpointId: `c${step}` });
  }
  await checkpointer.delete("t", { checkpointId: "c10" });
  await checkpointer.fork("t", "forked", { at: "c15" });
  await checkpointer.vacuum({ keepLast: 8 });
  expect((await checkpointer.load("t"))?.fields).toEqual(state.fields);
  expect((await checkpointer.load("forked"))?.messages).toHaveLength(15);
  expect((await checkpointer.listCheckpoints("t")).map(({ checkpointId }) => checkpointId)).toEqual(
    [20, 19, 18, 17, 16, 15, 14, 13].map((step) => `c${step}`),
  );
  await mkdir(join(directory, "unrelated"));
  expect(await checkpointer.listThreads()).toEqual(expect.arrayContaining(["t", "forked"]));
});
