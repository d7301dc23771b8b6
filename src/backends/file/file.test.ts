import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { LogRecord } from "../../checkpoint/log/thread-log.ts";
import { ERROR_CODES } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { openUrl } from "./checkpointer.ts";
import { classify } from "./classify.ts";
import { FileCheckpointer } from "./index.ts";
import { threadDirectoryName } from "./layout.ts";
import { FileLog } from "./log.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
});

const hello = AgentState.create().withMessage({ role: "user", content: "Hello" });

const recordAt = (seq: number, fields: Partial<LogRecord> = {}): LogRecord => ({
  seq,
  writeId: `write-${seq}`,
  base: 1,
  head: seq,
  checkpointId: `checkpoint-${seq}`,
  header: `{"record":${seq}}`,
  metadata: undefined,
  body: Buffer.from(`{"of":${seq}}`),
  words: undefined,
  ...fields,
});

const filesOf = async (): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(".json")).sort();

test("a person finds one readable file for each checkpoint, in a directory with the thread's name", async () => {
  const checkpointer = new FileCheckpointer({ directory });
  await checkpointer.save(hello, "Support Case #42", { checkpointId: "greeting", metadata: { by: "Ann" } });
  const answered = (await checkpointer.load("Support Case #42"))?.withMessage({
    role: "assistant",
    content: "Grüß Gott",
  });
  await checkpointer.save(answered ?? hello, "Support Case #42");

  const files = await filesOf();
  expect(files.map((name) => name.replace(/[0-9a-f]{40}\/[0-9a-f]{16}/, "…"))).toEqual([
    "support-case-42-…/0000000001.json",
    "support-case-42-…/0000000002.json",
  ]);
  const [first, second] = await Promise.all(files.map((name) => readFile(join(directory, name), "utf8")));
  expect(JSON.parse(first ?? "")).toMatchObject({
    format: 1,
    thread: "Support Case #42",
    seq: 1,
    checkpointId: "greeting",
    metadata: { by: "Ann" },
    body: { base: { messages: [{ role: "user", content: "Hello" }] } },
  });
  expect(second).toContain('"content": "Grüß Gott"');
  expect(second?.endsWith("}\n")).toBe(true);
  expect(second?.split("\n").length).toBeGreaterThan(20);
});

test.skipIf(process.platform === "win32")("only the owner may read what is stored", async () => {
  const root = join(directory, "made", "at", "first", "use");
  await new FileCheckpointer({ directory: root }).save(hello, "t");
  for (const name of await readdir(root, { recursive: true })) {
    const { mode } = await stat(join(root, name));
    expect((mode & 0o777).toString(8), name).toBe(name.endsWith(".json") ? "600" : "700");
  }
  expect((await stat(root)).mode & 0o777).toBe(0o700);
});

test("ids that sanitising, case folding or normalising would join have directories of their own", () => {
  const ids = [
    "user:1",
    "user/1",
    "user_1",
    "user@1",
    "User:1",
    "A",
    "a",
    "é",
    "e\u0301",
    ".",
    "..",
    "CON",
    "con",
    "\u212a",
    "k",
  ];
  const hashLike = threadDirectoryName("a").slice(2);
  const names = [...ids, hashLike, "x".repeat(1024), "🙂".repeat(256)].map(threadDirectoryName);
  expect(new Set(names.map((name) => name.normalize("NFC").toLowerCase())).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z0-9][a-z0-9-]{0,80}$/);
});

test("any bytes come back exactly", async () => {
  const log = new FileLog({ directory });
  const bodies = [
    '{"a":1}',
    '{"a": 1}',
    "[1.0]",
    "-0",
    "null",
    '"\\ud800"',
    "plain text\r\n",
    "\ufeff{}",
    "",
    "1e400",
    '{"a":1,"a":2}',
  ];
  const records = [
    ...bodies.map((body) => Buffer.from(body)),
    Buffer.from([0, 255, 254, 128]),
    Buffer.alloc(2_000_000, "[1],"),
  ].map((body, index) =>
    recordAt(index + 1, { body, header: bodies[index] ?? "{}", metadata: index % 2 ? '{"__proto__":1}' : undefined }),
  );
  for (const record of records) expect(await log.append("t", requestFor(record))).toEqual({ appended: true });
  const shown = (all: readonly LogRecord[] = []): unknown =>
    all.map(({ body, ...entry }) => ({ ...entry, body: Buffer.from(body).toString("latin1") }));
  expect(shown((await log.readTail("t"))?.records)).toEqual(shown(records));
  expect((await log.list("t", { limit: 100 })).map(({ header }) => header)).toEqual(
    records.map(({ header }) => header).reverse(),
  );
});

test("a value that is nested deeply does not become a large file by its indentation", async () => {
  const log = new FileLog({ directory });
  const body = Buffer.from("[".repeat(2000) + "]".repeat(2000));
  await log.append("t", requestFor(recordAt(1, { body })));
  const [file = ""] = await filesOf();
  expect((await stat(join(directory, file))).size).toBeLessThan(3 * body.byteLength);
  expect(Buffer.from((await log.readTail("t"))?.records[0]?.body ?? [])).toEqual(body);
});

test("a thread that was deleted leaves nothing behind", async () => {
  const checkpointer = new FileCheckpointer({ directory });
  await checkpointer.save(hello, "t");
  await checkpointer.save(hello, "only", { checkpointId: "one" });
  expect(await checkpointer.delete("t")).toBe(true);
  expect(await checkpointer.delete("only", { checkpointId: "one" })).toBe(true);
  expect(await readdir(directory)).toEqual([]);
});

test("files that a file browser leaves in a directory do no harm", async () => {
  const checkpointer = new FileCheckpointer({ directory });
  await checkpointer.save(hello, "t");
  const thread = join(directory, threadDirectoryName("t"));
  const [log = ""] = await readdir(thread);
  for (const place of [directory, thread, join(thread, log)]) await writeFile(join(place, ".DS_Store"), "x");
  await writeFile(join(directory, "README.md"), "my notes");
  expect(await checkpointer.listThreads()).toEqual(["t"]);
  expect(await checkpointer.delete("t")).toBe(true);
  expect((await readdir(directory)).sort()).toEqual([".DS_Store", "README.md"]);

  await mkdir(thread);
  await writeFile(join(thread, ".DS_Store"), "x");
  expect(await checkpointer.load("t")).toBeUndefined();
  await checkpointer.save(AgentState.create(hello.fields), "t");
  expect((await checkpointer.load("t"))?.fields).toEqual(hello.fields);
});

test("an option that is missing, empty or misspelt is refused with the known ones", () => {
  const create = (options: unknown) => () => new FileCheckpointer(options as { directory: string });
  expect(create(undefined)).toThrow(TypeError);
  expect(create({})).toThrow(/"directory" must be a path/);
  expect(create({ directory: "" })).toThrow(/"directory" must be a path/);
  expect(create({ directory: "a\0b" })).toThrow(/"directory" must be a path/);
  expect(create({ directory: 7 })).toThrow(/directory/);
  expect(create({ directory, baseDir: "x" })).toThrow(/no option "baseDir"; it takes directory/);
});

test("a URL names the directory", async () => {
  await openUrl(`file://${directory}`).save(hello, "t");
  expect(await filesOf()).toHaveLength(1);
  expect(() => openUrl("file:./threads?mode=fast")).toThrow(/unknown parameter "mode"/);
});

test("after close() every call rejects as CLOSED, and closing twice is harmless", async () => {
  const log = new FileLog({ directory });
  await log.close();
  await log.close();
  await expect(log.readTail("t")).rejects.toMatchObject({ code: "CLOSED" });
  await expect(log.append("t", requestFor(recordAt(1)))).rejects.toMatchObject({ code: "CLOSED" });
  await expect(log.listThreads({ prefix: "", limit: 1 })).rejects.toMatchObject({ code: "CLOSED" });
});

test("a late writer is refused after the thread was deleted and made anew, even under the same generation", async () => {
  const [late, log] = [new FileLog({ directory }), new FileLog({ directory })];
  await late.append("t", requestFor(recordAt(1)));
  await late.append("t", requestFor(recordAt(2)));
  await log.remove("t");
  await log.append("t", requestFor(recordAt(1, { writeId: "anew" })));
  const outcome = await late.append("t", requestFor(recordAt(3)));
  expect(outcome).toMatchObject({ appended: false, tail: { seq: 1, writeId: "anew" }, generation: "first" });
});

test("an append that expects another generation is refused, also by the process that wrote last", async () => {
  const log = new FileLog({ directory });
  await log.append("t", requestFor(recordAt(1)));
  const outcome = await log.append("t", requestFor(recordAt(2), { generation: "other" }));
  expect(outcome).toMatchObject({ appended: false, tail: { seq: 1 }, generation: "first", occupant: undefined });
  expect((await log.readTail("t"))?.tail.seq).toBe(1);
});

test("a name is looked up in files that were not looked at before, and only in those", async () => {
  const log = new FileLog({ directory });
  for (const seq of [1, 2, 3]) await log.append("t", requestFor(recordAt(seq)));
  expect(await log.entry("t", "not there")).toBeUndefined();
  // Files must not be changed by hand. That the change goes unnoticed shows that they are not read again.
  const files = await filesOf();
  await writeFile(join(directory, files[0] ?? ""), "damaged");
  await log.append("t", requestFor(recordAt(4)));
  expect(await log.entry("t", "not there")).toBeUndefined();
  expect(await log.entry("t", "checkpoint-4")).toMatchObject({ seq: 4 });
  await expect(new FileLog({ directory }).entry("t", "not there")).rejects.toMatchObject({ code: "CORRUPT" });
});

test("a name that another process moved or removed is found where it is now", async () => {
  const [log, other] = [new FileLog({ directory }), new FileLog({ directory })];
  for (const seq of [1, 2, 3]) await log.append("t", requestFor(recordAt(seq)));
  expect(await log.entry("t", "renamed")).toBeUndefined();
  const renamed = recordAt(2, { checkpointId: "renamed" });
  await other.append("t", requestFor(recordAt(4), { drop: [3], replace: [renamed] }));
  expect(await log.entry("t", "renamed")).toMatchObject({ seq: 2 });
  expect(await log.entry("t", "checkpoint-2")).toBeUndefined();
  expect(await log.entry("t", "checkpoint-3")).toBeUndefined();
});

test("every failure of the system has a code, and a failed sync is not retried by itself", () => {
  const codeOf = (code: string) => classify(Object.assign(new Error(code), { code }));
  expect(codeOf("ENOSPC")).toBe("STORAGE_FULL");
  expect(codeOf("EACCES")).toBe("PERMISSION_DENIED");
  expect(codeOf("EMFILE")).toBe("UNAVAILABLE");
  expect(ERROR_CODES[codeOf("EIO") ?? "UNAVAILABLE"].retryable).toBe(false);
  expect(codeOf("toString")).toBeUndefined();
  expect(classify(undefined)).toBeUndefined();
});
