import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { sqliteCheckpointer } from "./index.ts";
import { openDatabase } from "./open-file.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sqlite-erasing-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const freshPath = (): string => join(folder, `${++files}.db`);

/** The words that can be read in the database file or in one of its companion files. */
async function readable(path: string, words: readonly string[]): Promise<readonly string[]> {
  let bytes = "";
  for (const suffix of ["", "-wal", "-shm", "-journal"]) {
    if (existsSync(path + suffix)) bytes += (await readFile(path + suffix)).toString("latin1");
  }
  return words.filter((word) => bytes.includes(word));
}

/** No two of them begin alike: of each word, the index stores only what differs from the word before it. */
const canary = (what: string, step: number): string => `${(step * 7919 + what.length).toString(36)}zq${what}${step}`;

const STEPS = 60;

const wordsOf = (what: string): readonly string[] => Array.from({ length: STEPS }, (_, step) => canary(what, step));

/** Each checkpoint adds a word in its text and one in its metadata; some texts are longer than a page of the file. */
async function grow(checkpointer: Checkpointer, threadId: string): Promise<void> {
  let state = AgentState.create();
  for (let step = 0; step < STEPS; step++) {
    const filler = "and so on ".repeat(step % 7 === 0 ? 900 : 20);
    state = state.withMessage(userMessage(`${canary(threadId, step)} ${filler}`));
    const metadata = { note: canary(`${threadId}note`, step) };
    await checkpointer.save(state, threadId, { checkpointId: `c${step}`, metadata });
  }
  expect(await checkpointer.search(canary(threadId, 3))).toHaveLength(1);
}

const allOf = (threadId: string): readonly string[] => [...wordsOf(threadId), ...wordsOf(`${threadId}note`)];

describe("what was deleted is nowhere in the files", () => {
  test("a deleted thread leaves no text, no metadata and no word; its neighbour keeps all of them", async () => {
    const path = freshPath();
    const checkpointer = sqliteCheckpointer({ path });
    await grow(checkpointer, "kept");
    await grow(checkpointer, "gone");
    expect(await readable(path, allOf("gone"))).toEqual(allOf("gone"));
    await checkpointer.delete("gone");
    expect(await readable(path, allOf("gone")), "before close()").toEqual([]);
    expect(await checkpointer.search(canary("kept", 30))).toHaveLength(1);
    await checkpointer.close();
    expect(await readable(path, allOf("gone"))).toEqual([]);
    expect(await readable(path, allOf("kept"))).toEqual(allOf("kept"));
  });

  test("a deleted checkpoint leaves no metadata and no name, and a vacuum leaves nothing of what it removed", async () => {
    const path = freshPath();
    const checkpointer = sqliteCheckpointer({ path });
    await grow(checkpointer, "t");
    await checkpointer.delete("t", { checkpointId: "c30" });
    const note = canary("tnote", 30);
    expect(await readable(path, [note, '"c30"'])).toEqual([]);
    await checkpointer.vacuum({ keepLast: 5 });
    await checkpointer.close();
    expect(await readable(path, wordsOf("tnote"))).toEqual(wordsOf("tnote").slice(-5));
    // The messages are part of the states that were kept.
    expect(await readable(path, wordsOf("t"))).toEqual(wordsOf("t"));
  });

  test("the words of a message that was replaced are gone with the checkpoints that held it", async () => {
    const path = freshPath();
    const checkpointer = sqliteCheckpointer({ path });
    await checkpointer.save(AgentState.create().withMessage(userMessage("zqsecret")), "t", { checkpointId: "first" });
    const loaded = await checkpointer.load("t");
    await checkpointer.save(loaded!.with({ messages: [userMessage("harmless")] }), "t", { checkpointId: "second" });
    expect(await checkpointer.search("zqsecret")).toHaveLength(1);
    await checkpointer.delete("t", { checkpointId: "first" });
    expect(await checkpointer.search("zqsecret")).toHaveLength(0);
    expect(await checkpointer.search("harmless")).toHaveLength(1);
    await checkpointer.close();
    expect(await readable(path, ["zqsecret"])).toEqual([]);
  });

  test("words are removed from the index even if the body they came from is damaged", async () => {
    const path = freshPath();
    const checkpointer = sqliteCheckpointer({ path });
    await grow(checkpointer, "t");
    const database = await openDatabase(path);
    database.exec("PRAGMA secure_delete = ON");
    database.exec("UPDATE holdfast_records SET body = CAST('{}' AS BLOB), metadata = NULL");
    database.close();
    await checkpointer.delete("t");
    await checkpointer.close();
    expect(await readable(path, allOf("t"))).toEqual([]);
  });

  test("while another connection reads, the write-ahead log stays; it is truncated once the reader is done", async () => {
    const path = freshPath();
    const checkpointer = sqliteCheckpointer({ path, busyTimeoutMs: 60_000 });
    await grow(checkpointer, "t");
    const reader = await openDatabase(path);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM holdfast_records").get();
    const began = performance.now();
    await checkpointer.delete("t");
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(await checkpointer.load("t")).toBeUndefined();
    expect((await readable(path, allOf("t"))).length).toBeGreaterThan(0);
    reader.exec("COMMIT");
    await expect.poll(() => readable(path, allOf("t"))).toEqual([]);
    reader.close();
    await checkpointer.close();
  });

  test("with secureDelete: false, and on a caller's own connection, the setting is not changed", async () => {
    const path = freshPath();
    const checkpointer = sqliteCheckpointer({ path, secureDelete: false });
    await grow(checkpointer, "t");
    await checkpointer.delete("t");
    await checkpointer.close();
    expect((await readable(path, allOf("t"))).length).toBeGreaterThan(0);
    const database = await openDatabase(freshPath());
    database.exec("PRAGMA secure_delete = OFF");
    const handedIn = sqliteCheckpointer({ database });
    await handedIn.save(AgentState.create(), "t");
    await handedIn.delete("t");
    expect(database.prepare("PRAGMA secure_delete").get()).toMatchObject({ secure_delete: 0 });
    database.close();
  });
});

test("an index that forgot many records is still intact", async () => {
  const path = freshPath();
  const checkpointer = sqliteCheckpointer({ path });
  for (const threadId of ["a", "b", "c"]) await grow(checkpointer, threadId);
  await checkpointer.delete("a");
  await checkpointer.vacuum({ keepLast: 7 });
  await checkpointer.close();
  const database = await openDatabase(path);
  database.exec("INSERT INTO holdfast_words (holdfast_words) VALUES ('integrity-check')");
  expect(database.prepare("PRAGMA integrity_check").get()).toMatchObject({ integrity_check: "ok" });
  database.close();
});
