import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { actors } from "../../../test/file/stepwise.ts";
import { recordAt, requestFor } from "../../../test/file/thread-on-disk.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import { FileLog } from "./log.ts";

vi.mock("node:fs/promises", async (original) => {
  const { stepwiseModule } = await import("../../../test/file/stepwise.ts");
  return stepwiseModule(await original());
});

const IDS = Array.from({ length: 30 }, (_, index) => `thread ${index}`);
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  for (const id of IDS) await new FileLog({ directory }).append(id, requestFor(recordAt(1)));
});

/** The ids on each page; `between` is called before every page but the first. */
async function walk(
  open: () => FileLog,
  between: (met: readonly string[]) => Promise<unknown> = async () => undefined,
): Promise<readonly string[]> {
  const met: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await open().listThreads({ prefix: "thr", limit: 4, ...(cursor !== undefined && { cursor }) });
    met.push(...page.items.filter(isReadable).map(({ threadId }) => threadId));
    cursor = page.cursor;
    if (cursor !== undefined) await between(met);
  } while (cursor !== undefined);
  return met.sort();
}

test("a walk lists the directory once, however many pages it has", async () => {
  const log = new FileLog({ directory });
  await log.listThreads({ prefix: "", limit: 1 });
  let listings = 0;
  const before = async (call: string, path?: unknown): Promise<void> => {
    if (call === "readdir" && path === directory) listings++;
  };
  expect(await actors.run({ before }, () => walk(() => log))).toEqual([...IDS].sort());
  expect(listings).toBe(1);
});

test("every thread that exists throughout is listed once, while others come and go and other walks run", async () => {
  const log = new FileLog({ directory });
  let made = 0;
  const met = await walk(
    () => log,
    async (soFar) => {
      await log.append(`thread new ${made++}`, requestFor(recordAt(1)));
      const gone = IDS.find((id) => !soFar.includes(id) && id !== "thread 29");
      if (made === 2 && gone !== undefined) await log.remove(gone);
      await log.listThreads({ prefix: "", limit: 2 });
    },
  );
  const stayed = (await walk(() => log)).filter((id) => IDS.includes(id));
  expect(stayed.length).toBeGreaterThan(27);
  expect(new Set(met).size).toBe(met.length);
  expect(met).toEqual(expect.arrayContaining(stayed));
});

test("a cursor works in another process, and an invented one is refused", async () => {
  expect(await walk(() => new FileLog({ directory }))).toEqual([...IDS].sort());
  for (const cursor of ["", "~", "nonsense", "../..", "0123456789abcdef!../../etc"]) {
    const listing = new FileLog({ directory }).listThreads({ prefix: "", limit: 1, cursor });
    await expect(listing).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
});
