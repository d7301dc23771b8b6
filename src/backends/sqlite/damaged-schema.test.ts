import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { sqliteCheckpointer, sqliteStore } from "./index.ts";
import { tableNames } from "./layout.ts";
import { openDatabase } from "./open-file.ts";
import { allParts } from "./parts.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-damaged-schema-"));
afterAll(() => rmSync(folder, { recursive: true }));
const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

test("a flipped bit in the text of a table, an index, a view or a trigger is CORRUPT, and says what to do", async () => {
  const whole = join(folder, "whole.db");
  {
    await using checkpointer = sqliteCheckpointer({ path: whole });
    await using store = sqliteStore({ path: whole });
    await checkpointer.save(said("hello"), "t");
    await store.put(["n"], "k", { v: 1 });
  }
  const bytes = readFileSync(whole);
  const path = join(folder, "damaged.db");
  let flips = 0;
  for (const part of allParts(tableNames("holdfast_"))) {
    for (const statement of part.migrations.flat().filter((text) => text.startsWith("CREATE"))) {
      for (const share of [0.35, 0.6, 0.9]) {
        const offset = Math.floor(statement.length * share);
        const at = bytes.indexOf(statement.slice(0, 60));
        // One of a page in two pieces is left to those that lie in one.
        if (at < 0 || bytes.subarray(at, at + statement.length).toString() !== statement) continue;
        if (/\s/.test(statement[offset] ?? " ")) continue;
        const damaged = Buffer.from(bytes);
        damaged[at + offset] = (damaged[at + offset] ?? 0) ^ 1;
        writeFileSync(path, damaged);
        flips++;
        await using checkpointer = sqliteCheckpointer({ path });
        await using store = sqliteStore({ path });
        const calls =
          part.name === "store"
            ? [() => store.get(["n"], "k")]
            : [() => checkpointer.load("t"), () => checkpointer.save(said("more"), "u")];
        for (const call of calls) {
          const failure = await failureOf(call);
          expect(failure, `${statement.slice(0, 60)} at ${offset}`).toMatchObject({ code: "CORRUPT" });
          expect(failure.message).toMatch(/from a backup/);
        }
      }
    }
  }
  expect(flips).toBeGreaterThan(20);
});

test("an index that was dropped by hand is CORRUPT, and tables of other owners are no damage", async () => {
  const path = join(folder, "dropped.db");
  {
    await using checkpointer = sqliteCheckpointer({ path });
    await checkpointer.save(said("hello"), "t");
  }
  const database = await openDatabase(path);
  database.exec("CREATE TABLE mine (x); CREATE INDEX mine_too ON holdfast_threads (generation)");
  {
    await using checkpointer = sqliteCheckpointer({ path });
    expect((await checkpointer.load("t"))?.messages).toHaveLength(1);
  }
  database.exec("DROP INDEX holdfast_threads_stale");
  database.close();
  await using checkpointer = sqliteCheckpointer({ path });
  const failure = await failureOf(() => checkpointer.load("t"));
  expect(failure).toMatchObject({ code: "CORRUPT" });
  expect(failure.message).toContain("holdfast_threads_stale is missing");
});
