import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { actors } from "../../../test/file/stepwise.ts";
import { recordAt, requestFor } from "../../../test/file/thread-on-disk.ts";
import { FileLog } from "./log.ts";

vi.mock("node:fs/promises", async (original) => {
  const { stepwiseModule } = await import("../../../test/file/stepwise.ts");
  return stepwiseModule(await original());
});

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
});

const append = (seq: number, log: FileLog): Promise<unknown> => log.append("t", requestFor(recordAt(seq)));

test("an append answers after its bytes and then its name were synced; a thread's first, after all names above it", async () => {
  const log = new FileLog({ directory });
  await append(9, log);
  const calls: string[] = [];
  const before = async (call: string, path?: unknown): Promise<void> => {
    if (call === "open") calls.push(`open ${kindOf(String(path), directory)}`);
    if (["write", "sync", "link", "rename"].includes(call)) calls.push(call);
  };
  await actors.run({ before }, () => append(1, log));
  const written = ["open file", "write", "sync"];
  const synced = ["open directory", "sync"];
  // The log's two directories, the log, and the thread; the thread's earlier name is gone.
  const names = [...synced, ...synced, ...synced, ...synced, "open directory"];
  expect(calls).toEqual([...written, ...names, "rename", "open root", "sync"]);

  calls.length = 0;
  await actors.run({ before }, () => append(2, log));
  expect(calls).toEqual([...written, "link", ...synced]);

  calls.length = 0;
  await actors.run({ before }, () => append(3, new FileLog({ directory })));
  expect(calls.slice(-10)).toEqual([...synced, "open root", "sync", ...written, "link", ...synced]);
});

test("a record's own file goes after the segment that holds it, and the segment's name, were synced, and its removal is synced", async () => {
  const log = new FileLog({ directory, foldEvery: 2 });
  await append(1, log);
  const calls: string[] = [];
  const before = async (call: string, path?: unknown): Promise<void> => {
    if (["write", "sync", "link"].includes(call)) calls.push(call);
    if (call === "unlink" && String(path).endsWith(".json")) calls.push("remove");
  };
  await actors.run({ before }, () => append(2, log));
  const appended = ["write", "sync", "link", "sync"];
  const folded = calls.slice(appended.length).filter((call, index, all) => call !== all[index - 1]);
  expect(calls.slice(0, appended.length)).toEqual(appended);
  expect(folded).toEqual(["write", "sync", "link", "sync", "remove", "sync"]);
});

function kindOf(path: string, root: string): "root" | "directory" | "file" {
  if (path === root) return "root";
  return /\.json$|staging-\w+.\.tmp-/.test(path) ? "file" : "directory";
}

/** What a file system without a journal must never see: an inode that is free while its old name may still be on the disk. */
test("what is removed stays open until the removal of its name was synced", async () => {
  const log = new FileLog({ directory, foldEvery: 2 });
  const held: string[] = [];
  const atRisk: string[] = [];
  const before = async (call: string, path?: unknown): Promise<void> => {
    if (call === "open") held.push(String(path));
    const isOpen = held.includes(String(path));
    // A draft that was linked has another name.
    if (["unlink", "rmdir"].includes(call) && !isOpen && !/\.tmp-\w+$/.test(String(path))) atRisk.push(String(path));
    if (call === "rm") atRisk.push(String(path));
  };
  await actors.run({ before }, async () => {
    for (let seq = 1; seq <= 6; seq++) await append(seq, log);
    await log.remove("t");
  });
  expect(atRisk).toEqual([]);
  expect(await readdir(directory)).toEqual([]);
});
