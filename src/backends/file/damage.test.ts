import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { copyFile, cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { places } from "../../../test/property-seed.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import type { ListedThread } from "../../checkpoint/log/thread-log.ts";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { FileCheckpointer } from "./index.ts";
import { recordFileName, threadDirectoryName } from "./layout.ts";
import { FileLog } from "./log.ts";
import { parseRecord } from "./record-file.ts";

let directory: string;
let checkpointer: FileCheckpointer;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  checkpointer = new FileCheckpointer({ directory, cacheBytes: 0 });
  onTestFinished(() => rm(directory, { recursive: true }));
});

/** Saves one checkpoint for each word. */
async function saveWords(threadId: string, ...words: string[]): Promise<AgentState> {
  let state = AgentState.create();
  for (const content of words) {
    state = state.withMessage({ role: "user", content });
    await checkpointer.save(state, threadId);
  }
  return state;
}

function pathOf(threadId: string, seq: number): string {
  const thread = join(directory, threadDirectoryName(threadId));
  const [log = ""] = readdirSync(thread);
  return join(thread, log, recordFileName(seq));
}

const locationOf = (path: string): string => path.slice(directory.length + 1).replaceAll("\\", "/");

/** What loading does now: the same state as before, or the error. */
async function outcomeOf(threadId: string, intact: AgentState): Promise<StateError | "the same"> {
  try {
    const loaded = await checkpointer.load(threadId);
    expect(loaded?.fields).toEqual(intact.fields);
    return "the same";
  } catch (error) {
    if (StateError.is(error)) return error;
    throw error;
  }
}

test("a record cut off at any byte is reported as damaged, and other threads still load", async () => {
  const intact = await saveWords("damaged", "one", "two");
  const other = await saveWords("sound", "three");
  const path = pathOf("damaged", 2);
  const bytes = readFileSync(path);
  const damaged = { code: "CORRUPT", context: { location: locationOf(path), threadId: "damaged" } };
  // The newline at the end carries no information.
  for (const length of places(bytes.length - 1)) {
    writeFileSync(path, bytes.subarray(0, length));
    expect(await outcomeOf("damaged", intact), `cut off at ${length}`).toMatchObject(damaged);
  }
  expect(await outcomeOf("sound", other)).toBe("the same");
});

test("a record with any bit flipped is reported as damaged, or reads the same", async () => {
  const intact = await saveWords("damaged", "one");
  const other = await saveWords("sound", "three");
  const path = pathOf("damaged", 1);
  const bytes = readFileSync(path);
  const location = locationOf(path);
  const whole = parseRecord(bytes, location);
  const harmless: number[] = [];
  const tried = new Set(places(bytes.length));
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = withBitFlipped(bytes, bit);
    try {
      expect(parseRecord(flipped, location)).toEqual(whole);
      harmless.push(bit);
    } catch (error) {
      if (!StateError.is(error)) throw error;
      expect(error).toMatchObject({ code: "CORRUPT", context: { location } });
    }
    // Reading through the whole stack takes longer, so only one bit of some bytes is tried.
    if (bit % 8 !== (bit >> 3) % 8 || !tried.has(bit >> 3)) continue;
    writeFileSync(path, flipped);
    const outcome = await outcomeOf("damaged", intact);
    if (harmless.at(-1) === bit) expect(outcome).toBe("the same");
    else expect(outcome).toMatchObject({ code: "CORRUPT", context: { location, threadId: "damaged" } });
  }
  // Only white space between values became other white space.
  for (const bit of harmless) expect(String.fromCharCode(bytes[bit >> 3]!)).toMatch(/\s/);
  expect(await outcomeOf("sound", other)).toBe("the same");
});

function withBitFlipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}

test("a file of another thread, or of another position, is reported as foreign", async () => {
  const intact = await saveWords("mine", "one", "two", "three");
  await saveWords("other", "one", "two", "three");

  const path = pathOf("mine", 2);
  await copyFile(pathOf("other", 2), path);
  const fromOther = await outcomeOf("mine", intact);
  expect(fromOther).toMatchObject({ code: "CORRUPT", context: { location: locationOf(path) } });
  expect(String(fromOther)).toContain('of thread "other"');

  await copyFile(pathOf("mine", 3), path);
  expect(String(await outcomeOf("mine", intact))).toContain("it is record 3");
});

test("a file of an earlier thread of the same id is reported as foreign, even if it would be the newest", async () => {
  // The write id becomes the generation of the thread: only the name of the log tells the two apart.
  const save = (content: string): Promise<string> =>
    checkpointer.save(AgentState.create().withMessage({ role: "user", content }), "t", { writeId: "the same" });
  await save("earlier");
  const earlier = await readFile(pathOf("t", 1));
  await checkpointer.delete("t");
  await save("later");
  await writeFile(pathOf("t", 1), earlier);
  const location = locationOf(pathOf("t", 1));
  await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "CORRUPT", context: { location } });
});

test("a file written by a newer version says to upgrade", async () => {
  await saveWords("t", "one");
  const path = pathOf("t", 1);
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace('"format": 1', '"format": 2').replace('"thread"', '"threadName"'));
  await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "INCOMPATIBLE" });
});

test("white space is not part of a record: a file that an editor or git reformatted still loads", async () => {
  const intact = await saveWords("t", "one", "two");
  for (const seq of [1, 2]) {
    const path = pathOf("t", seq);
    const text = await readFile(path, "utf8");
    await writeFile(path, seq === 1 ? text.replaceAll("\n", "\r\n") : JSON.stringify(JSON.parse(text)));
  }
  expect(await outcomeOf("t", intact)).toBe("the same");
  expect((await checkpointer.listCheckpoints("t")).length).toBe(2);
});

test("a damaged body does not affect listing, which does not read it", async () => {
  await saveWords("t", "one", "two");
  const path = pathOf("t", 1);
  const text = await readFile(path, "utf8");
  await writeFile(path, text.slice(0, text.indexOf('"body"')));
  expect((await checkpointer.listCheckpoints("t")).length).toBe(2);
  await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "CORRUPT" });
});

test("a damaged thread is in the list of threads in its place, by its name and where any file of it tells that; deleting it helps", async () => {
  const ids = Array.from({ length: 10 }, (_, index) => `thread ${index}`);
  for (const id of ids) await saveWords(id, "one");
  const damaged = ["thread 0", "thread 7"];
  await writeFile(pathOf("thread 0", 1), "{");
  const text = await readFile(pathOf("thread 7", 1), "utf8");
  await writeFile(pathOf("thread 7", 1), text.replace(/"seq": ?1/, '"seq": 2'));

  const log = new FileLog({ directory });
  const met: ListedThread[] = [];
  let cursor: string | undefined;
  do {
    const page = await log.listThreads({ prefix: "thr", limit: 3, ...(cursor !== undefined && { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(3);
    met.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== undefined);
  expect(
    met
      .filter(isReadable)
      .map(({ threadId }) => threadId)
      .sort(),
  ).toEqual(ids.filter((id) => !damaged.includes(id)));
  const messages = damaged.map((id) => expect.stringContaining(locationOf(pathOf(id, 1))));
  expect(met.filter((thread) => !isReadable(thread))).toEqual(
    expect.arrayContaining([
      { threadId: undefined, trouble: { code: "CORRUPT", message: messages[0] } },
      { threadId: "thread 7", trouble: { code: "CORRUPT", message: messages[1] } },
    ]),
  );
  expect(met).toHaveLength(ids.length);

  for (const id of damaged) expect(await checkpointer.delete(id)).toBe(true);
  expect(await checkpointer.listThreads()).toHaveLength(8);
  expect(await readdir(directory)).toHaveLength(8);
});

test("a log without records, and a thread with two logs, are damage and not absence", async () => {
  await saveWords("empty", "one");
  await rm(pathOf("empty", 1));
  await expect(checkpointer.load("empty")).rejects.toMatchObject({ code: "CORRUPT" });

  await saveWords("double", "one");
  const thread = join(directory, threadDirectoryName("double"));
  const [log = ""] = await readdir(thread);
  await cp(join(thread, log), join(thread, "0123456789abcdef"), { recursive: true });
  await expect(checkpointer.load("double")).rejects.toMatchObject({ code: "CORRUPT" });
  expect(await checkpointer.delete("double")).toBe(true);
  expect(await checkpointer.load("double")).toBeUndefined();
});
