import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openDatabase } from "../../src/backends/sqlite/open-file.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "./people.ts";

const WORD = "qzzremainsqz";

test("a receipt names each file of SQLite that still holds the words: both while a connection reads, none when it is done", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-remains-"));
  const path = join(directory, "threads.db");
  const holding = async (): Promise<readonly string[]> => {
    const texts = await Promise.all(
      ["", "-wal"].map(async (suffix) => [suffix, await readFile(path + suffix, "latin1").catch(() => "")] as const),
    );
    return texts.filter(([, text]) => text.includes(WORD)).map(([suffix]) => `threads.db${suffix}`);
  };
  const about = { metadata: { subject: "ines" } };
  const first = await openCheckpointer(`sqlite:${path}`);
  await first.save(AgentState.create().withMessage(userMessage(`I am ${WORD}. ${"x".repeat(20_000)}`, about)), "t");
  await first.close();
  const checkpointer = await openCheckpointer(`sqlite:${path}`);
  const state = await checkpointer.load("t");
  if (state === undefined) throw new Error("the thread is gone");
  await checkpointer.save(state.withMessage(userMessage(`Still ${WORD}.`, about)), "t");
  const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
  const reader = await openDatabase(path);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM holdfast_records").get();

  const { places } = await data.eraseUser("ines");
  expect(await holding()).toEqual(["threads.db", "threads.db-wal"]);
  expect(places[0]?.remains.join("\n")).toMatch(/in the file itself and in its write-ahead log.*Erase again/);

  reader.exec("COMMIT");
  reader.close();
  const again = await data.eraseUser("ines");
  expect(again.places[0]?.remains).toEqual([]);
  expect(await holding()).toEqual([]);
  await checkpointer.close();
  await rm(directory, { recursive: true });
}, 60_000);
