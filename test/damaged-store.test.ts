import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InMemoryStore } from "../src/backends/memory/store.ts";
import { openDatabase } from "../src/backends/sqlite/open-file.ts";
import type { Checkpointer } from "../src/checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../src/checkpoint/context.ts";
import { placeOfTail } from "../src/checkpoint/log/driver-rules.ts";
import { PrefixLog } from "../src/checkpoint/log/prefix-log.ts";
import type { ThreadWarning } from "../src/driver/warnings.ts";
import { CheckpointSaver } from "../src/saver/checkpoint-saver.ts";
import { Sealing } from "../src/sealing/sealing.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../src/state/message.ts";
import type { Answers } from "../src/studio/answer-types.ts";
import { scriptedModel } from "../src/testing/models/scripted-model.ts";
import { Agent } from "../src/wiring/agent.ts";
import { PersonalData } from "../src/wiring/personal-data.ts";
import { holdfast } from "./cli/fake-world.ts";
import { failureOf } from "./failure-of.ts";
import { served } from "./http/served.ts";
import { filesIn, LOCAL_BACKENDS, type LocalStorage } from "./local-backends.ts";
import { sampleKeyring } from "./sealing/sample-keyring.ts";
import { openStudio } from "./studio/opened-studio.ts";

/** Readable, from the first to the last in any order of ids, and the one that a process left unfinished. */
const SOUND = ["a-first", "huge", "unfinished", "z-last"];
const WITH_TROUBLE = ["damaged", "newer", "sealed"];
const EVERY = [...SOUND, ...WITH_TROUBLE].sort();

type Damage = (storage: LocalStorage) => Promise<void>;

/** Bytes of the thread "damaged" that no driver can make a list of. */
const DAMAGES: Readonly<Record<string, Damage>> = {
  file: async ({ directory = "" }) => {
    for (const path of (await filesIn(directory)).filter((name) => name.includes("damaged"))) {
      const text = await readFile(path, "utf8");
      await writeFile(path, text.replace(/"seq": ?1\b/, '"seq": 2'));
    }
  },
  sqlite: async ({ directory = "" }) => {
    const database = await openDatabase(join(directory, "a.db"));
    database.exec("UPDATE holdfast_threads SET head = 2 WHERE thread_id = 'damaged'");
    database.close();
  },
};

const NEWER = '{"format":99,"kind":"base","createdAt":0,"messages":1,"bytes":2}';

async function fill(storage: LocalStorage, damage: Damage): Promise<void> {
  const checkpointer = storage.open();
  const save = (threadId: string, text = "needle"): Promise<string> =>
    checkpointer.save(AgentState.create().withMessages([userMessage(text), assistantMessage("yes")]), threadId, {
      metadata: { team: 1 },
    });
  for (const threadId of ["a-first", "damaged", "newer", "z-last"]) await save(threadId);
  await save("huge", `needle ${"long ".repeat(1_000_000)}`);
  const dying = new Agent({ model: scriptedModel([]), checkpointer });
  await failureOf(() => dying.run("needle", { threadId: "unfinished" }));
  const { keyring } = await sampleKeyring();
  const sealing = storage.open({ sealing: new Sealing({ keyring }) });
  await sealing.save(AgentState.create().withMessage(userMessage("needle")), "sealed");
  const { log } = contextOf(checkpointer) as CheckpointContext;
  const chain = await log.readTail("newer");
  const [record] = chain?.records ?? [];
  if (chain === undefined || record === undefined) throw new Error("the thread was just saved");
  const next = {
    ...record,
    seq: 2,
    base: 2,
    head: 2,
    writeId: "n",
    checkpointId: "n",
    header: NEWER,
    words: undefined,
  };
  await log.append("newer", {
    expected: placeOfTail({ generation: chain.generation, entry: chain.tail }),
    record: next,
  });
  await checkpointer.close();
  await damage(storage);
}

const named = (warnings: readonly ThreadWarning[]): readonly (string | undefined)[] =>
  warnings.map(({ threadId }) => threadId).sort();

describe.each(Object.keys(DAMAGES))(
  "a store of %s with a damaged thread, a newer one, a sealed one and a huge one",
  (name) => {
    let storage: LocalStorage;
    let checkpointer: Checkpointer;
    let url: string;
    beforeAll(async () => {
      storage = await LOCAL_BACKENDS.find((backend) => backend.name === name)!.create();
      await fill(storage, DAMAGES[name] as Damage);
      checkpointer = storage.open();
      url = name === "file" ? `file:${storage.directory}` : `sqlite:${storage.directory}/a.db`;
    });
    afterAll(() => storage.dispose());

    test("lists show every thread that can be read, end with those that cannot, and name their trouble", async () => {
      const listed = await checkpointer.listThreads();
      expect([...listed].sort()).toEqual(EVERY);
      expect([listed.at(-1), listed.cursor, named(listed.warnings)]).toEqual(["damaged", undefined, ["damaged"]]);
      const summaries = await checkpointer.listWithMetadata();
      expect(summaries.map(({ threadId }) => threadId).sort()).toEqual(EVERY);
      expect(
        summaries
          .filter(({ createdAt }) => createdAt !== undefined)
          .map(({ threadId }) => threadId)
          .sort(),
      ).toEqual(SOUND);
      expect(summaries.at(-1)).toEqual({ threadId: "damaged", checkpointId: "" });
      expect(named(summaries.warnings)).toEqual(WITH_TROUBLE);
      for (const limit of [1, 2, 3]) {
        const met: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await checkpointer.listThreads({ limit, ...(cursor !== undefined && { cursor }) });
          expect(page.length).toBeLessThanOrEqual(limit);
          met.push(...page);
          cursor = page.cursor;
        } while (cursor !== undefined);
        expect(met.sort(), `pages of ${limit}`).toEqual(EVERY);
      }
      expect((await checkpointer.listWithMetadata({ standing: "unfinished" })).map(({ threadId }) => threadId)).toEqual(
        ["unfinished"],
      );
    });

    test("a query, a search and the inbox answer for the others", async () => {
      const queried = await checkpointer.queryByMetadata("team", 1);
      expect(queried.map(({ threadId }) => threadId).sort()).toEqual(
        expect.arrayContaining(["a-first", "huge", "z-last"]),
      );
      expect((await checkpointer.search("needle", { limit: 50 })).map(({ threadId }) => threadId)).toEqual(
        expect.arrayContaining(SOUND),
      );
      const inbox = await checkpointer.inbox();
      expect([inbox.length, named(inbox.warnings)]).toEqual([0, WITH_TROUBLE]);
    });

    test("recover() runs what is unfinished and its report has the warnings; a hold is placed", async () => {
      const copy = await LOCAL_BACKENDS.find((backend) => backend.name === name)!.create();
      await fill(copy, DAMAGES[name] as Damage);
      const agent = new Agent({ model: scriptedModel(["done"]), checkpointer: copy.open() });
      const report = await agent.recover({ olderThanMs: 0 });
      expect(report).toMatchObject({ recovered: [{ threadId: "unfinished", stopReason: "complete" }], failed: [] });
      expect(named(report.warnings)).toEqual(WITH_TROUBLE);
      const there = copy.open();
      const data = new PersonalData({ checkpointers: [there], ledger: new InMemoryStore(), key: "k".repeat(32) });
      await data.placeHold({ threadPrefix: "z-", reason: "a case", by: "a court" });
      expect(await failureOf(() => there.delete("z-last"))).toMatchObject({ code: "HELD" });
      await copy.dispose();
    });

    test("a saver lists its threads, a plan and a dry run of a vacuum name what they leave", async () => {
      const saver = new CheckpointSaver({ log: (contextOf(checkpointer) as CheckpointContext).log });
      expect([...(await saver.listThreads())]).toEqual([]);
      expect(named((await saver.listThreads()).warnings)).toEqual(WITH_TROUBLE);
      expect(await checkpointer.vacuum({ keepLast: 1, dryRun: true })).toMatchObject({ skipped: 3 });
      const skipped: string[] = [];
      for await (const entry of checkpointer.vacuumPlan({ keepLast: 1 }))
        if (entry.skipped) skipped.push(entry.threadId);
      expect(skipped.sort()).toEqual(WITH_TROUBLE);
    });

    test("an inventory and rules of retention reach the others and name what they could not look into", async () => {
      const data = new PersonalData({
        checkpointers: [checkpointer],
        ledger: new InMemoryStore(),
        key: "k".repeat(32),
      });
      const inventory = await data.inventory("ada");
      expect(inventory.unreached.map(({ why }) => why).sort()).toEqual(["CORRUPT", "INCOMPATIBLE", "INCOMPATIBLE"]);
      const report = await data.applyRetention({ rules: [{ category: "process", keepLast: 1 }], dryRun: true });
      expect(named(report.warnings)).toEqual(expect.arrayContaining(["damaged"]));
    });

    test("a tenant's view and a service list the same", async () => {
      const { log } = contextOf(checkpointer) as CheckpointContext;
      const { items } = await new PrefixLog(log, "d").listThreads({ prefix: "", limit: 9 });
      expect(items).toEqual([{ threadId: "amaged", trouble: { code: "CORRUPT", message: expect.any(String) } }]);
      await using service = await served(new PrefixLog(log, ""));
      const client = service.client();
      const listed = await client.listWithMetadata();
      expect(listed.map(({ threadId }) => threadId).sort()).toEqual(EVERY);
      expect(named(listed.warnings)).toEqual(WITH_TROUBLE);
      await client.close();
    });

    test("every command prints what it can, and says on stderr what it cannot", async () => {
      const threads = await holdfast(["threads", url, "-o", "json"]);
      expect([threads.code, threads.stderr]).toEqual([0, expect.stringMatching(/^holdfast: damaged: CORRUPT: /m)]);
      expect(threads.stderr).not.toContain("more:");
      const { items } = JSON.parse(threads.stdout) as { items: { threadId: string }[] };
      expect(items.map(({ threadId }) => threadId).sort()).toEqual(EVERY);
      for (const more of [["--all"], ["--all", "--sort", "recent"]]) {
        const all = await holdfast(["threads", url, ...more, "-o", "ndjson"]);
        expect([all.code, all.stdout.trim().split("\n").length]).toEqual([0, EVERY.length]);
      }
      const stats = await holdfast(["stats", url, "-o", "json"]);
      expect([stats.code, JSON.parse(stats.stdout)]).toEqual([0, expect.objectContaining({ threads: 7, damaged: 3 })]);
      expect(stats.stderr).toContain("holdfast: damaged: CORRUPT: ");
      for (const [command, code] of [
        ["inbox", 0],
        ["verify", 6],
        ["doctor", 6],
        ["export", 3],
      ] as const) {
        const outcome = await holdfast([command, url, ...(command === "doctor" ? ["--quick"] : [])]);
        expect([command, outcome.code]).toEqual([command, code]);
        expect(`${outcome.stdout}${outcome.stderr}`).toContain("damaged");
      }
      const found = await holdfast(["search", url, "needle", "-o", "ndjson"]);
      expect([found.code, found.stdout]).toEqual([0, expect.stringContaining("z-last")]);
      const vacuum = await holdfast(["vacuum", url, "--keep-last", "1", "--dry-run"]);
      expect([vacuum.code, vacuum.stderr]).toEqual([3, expect.stringMatching(/^holdfast: damaged: CORRUPT: /m)]);
      const copied = await holdfast(["copy", url, `file:${storage.directory}-copy`]);
      expect([copied.code, copied.stderr]).toEqual([3, expect.stringMatching(/^damaged {2}CORRUPT {2}/m)]);
    });

    test("Studio lists them, counts the damaged, and proves the others", async () => {
      const studio = await openStudio(checkpointer);
      const { origin, token } = studio.studio;
      const headers = { authorization: `Bearer ${token}`, origin, "content-type": "application/json" };
      const threads = (await (await fetch(`${origin}/api/threads`, { headers })).json()) as Answers["threads"];
      expect(threads.rows.map(({ threadId }) => threadId).sort()).toEqual(EVERY);
      expect([threads.counts.damaged, threads.walk]).toEqual([3, expect.objectContaining({ complete: true })]);
      const health = (await (await fetch(`${origin}/api/health`, { headers })).json()) as Answers["health"];
      expect(health.threads.damaged).toBe(3);
      const proofs = await (await fetch(`${origin}/api/proofs`, { method: "POST", headers, body: "{}" })).text();
      const lines = proofs
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { type: string; threadId?: string });
      expect(lines.at(-1)).toMatchObject({ type: "end" });
      expect(lines.filter(({ type }) => type === "finding").map(({ threadId }) => threadId)).toEqual(
        expect.arrayContaining(["damaged"]),
      );
      await studio.close();
    });
  },
);
