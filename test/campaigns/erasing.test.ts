import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { faultInReceipts } from "../../src/session/receipts.ts";
import { CoreUserStore } from "../../src/session/user-store.ts";
import { userMessage } from "../../src/state/message.ts";
import { assertValidForAnthropic, assertValidForOpenAI } from "../../src/testing/models/history-validators.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { findPostgres, startPostgres } from "../services/postgres.ts";
import { findRedis, startRedis } from "../services/redis.ts";
import type { TestServer } from "../services/server-process.ts";
import { diskUrls } from "../session/disk-urls.ts";
import { canary, fill, KEY, range, readableIn, userOf } from "../session/people.ts";
import { reportCampaign } from "./report.ts";

const [PEOPLE = 0, GONE = 0] = (process.env["HOLDFAST_ERASE"] ?? "200,50").split(",").map(Number);
const [ERASED, KEPT] = [range(0, GONE), range(GONE, PEOPLE)];
const folder = await mkdtemp(join(tmpdir(), "holdfast-erasing-campaign-"));
afterAll(() => rm(folder, { recursive: true }));

/** With owners and rights: a server refuses files that are not its own. */
const copy = async (from: string, to: string): Promise<void> => {
  await promisify(execFile)("cp", ["-a", from, to]);
};

/** A storage that can be put back to an earlier day. */
interface Restorable {
  readonly threads: string;
  readonly items: string;
  /** Every file that it owns lies below. */
  readonly directory: string;
  /** Once everything is made and before anything is in it. */
  readonly prepare?: () => Promise<void>;
  /** Runs `work` while no server or process writes to the files. */
  readonly whileStopped: (work: () => Promise<void>) => Promise<void>;
  /**
   * What the operator of the storage has to do once in a while, as the receipts say.
   */
  readonly tidy?: () => Promise<void>;
}

async function campaign(name: string, place: Restorable): Promise<void> {
  const { threads, items, directory, prepare, whileStopped, tidy } = place;
  const began = performance.now();
  const open = async () => ({ checkpointer: await openCheckpointer(threads), store: await openStore(items) });
  let { checkpointer, store } = await open();
  await Promise.all([checkpointer.exists("t"), store.get(["n"], "k")]);
  await prepare?.();
  const shared = await fill(checkpointer, store, new CoreUserStore(async () => store), PEOPLE);
  await checkpointer.close();
  await store.close();
  const backup = join(folder, `${name}-backup`);
  await whileStopped(() => copy(directory, backup));

  const ledger = await openStore(`sqlite:${join(folder, `${name}-ledger.db`)}`);
  const dataOn = (place: Awaited<ReturnType<typeof open>>) =>
    new PersonalData({ checkpointers: [place.checkpointer], stores: [place.store], ledger, key: KEY });
  ({ checkpointer, store } = await open());
  let data = dataOn({ checkpointer, store });
  const erasing = performance.now();
  for (const person of ERASED) expect((await data.eraseUser(userOf(person))).verified).toBe(true);
  const erasedMs = performance.now() - erasing;
  await tidy?.();
  expect(await readableIn(directory, ERASED)).toEqual([]);
  expect(await readableIn(directory, KEPT)).toEqual(KEPT);
  for (const threadId of shared) {
    const state = await checkpointer.load(threadId);
    for (const valid of [assertValidForOpenAI, assertValidForAnthropic]) valid(state?.messages ?? []);
    if (state !== undefined) await checkpointer.save(state.withMessage(userMessage("And on it goes.")), threadId);
  }
  await checkpointer.close();
  await store.close();

  await whileStopped(async () => {
    await rm(directory, { recursive: true });
    await copy(backup, directory);
  });
  ({ checkpointer, store } = await open());
  data = dataOn({ checkpointer, store });
  // Before the data is used, what was erased is erased again.
  const clean = await data.open();
  await tidy?.();
  expect(await readableIn(directory, ERASED)).toEqual([]);
  expect(await readableIn(directory, KEPT)).toEqual(KEPT);
  for (const threadId of shared) {
    const text = JSON.stringify((await clean.checkpointers[0]?.load(threadId)) ?? null);
    expect(ERASED.filter((person) => text.includes(canary(person)))).toEqual([]);
  }
  const receipts = await data.receipts();
  expect(receipts).toHaveLength(GONE);
  expect(faultInReceipts(receipts, data.publicKey)).toBeUndefined();
  const edited = receipts.map((each, index) => (index === 1 ? { ...each, places: [] } : each));
  expect(faultInReceipts(edited, data.publicKey)).toMatch(/receipt 2 is not as it was signed/);
  await checkpointer.close();
  await store.close();
  await ledger.close();
  reportCampaign(
    `erasing on ${name}`,
    began,
    `no readable word of the people who were erased, not even after a restore`,
    {
      people: PEOPLE,
      erased: GONE,
      "ms for each erasure": Math.round(erasedMs / GONE),
    },
  );
}

const TITLE = `${GONE} of ${PEOPLE} people are erased: no byte of theirs is left in any file, and every word of the others is`;

test.each(["sqlite", "file"] as const)(`on %s, ${TITLE}`, async (backend) => {
  const directory = await mkdtemp(join(folder, `${backend}-`));
  await campaign(backend, { ...diskUrls(backend, directory), directory, whileStopped: (work) => work() });
});

const stopping =
  (server: TestServer): Restorable["whileStopped"] =>
  async (work) => {
    // A clean shutdown would write everything anew; a backup of a disk meets a server as it stands.
    await server.kill();
    await work();
    await server.restart();
  };

test.skipIf((await findRedis()) === undefined)(`on redis, ${TITLE}`, async () => {
  // Uncompressed, so that a word that is there can be seen.
  const server = await startRedis({ settings: { rdbcompression: "no" } });
  try {
    const at = (what: string): string => `${server.url}?prefix=${what}:`;
    const place = { threads: at("threads"), items: at("items"), directory: server.folder };
    await campaign("redis", { ...place, whileStopped: stopping(server) });
  } finally {
    await server.stop();
  }
});

test.skipIf((await findPostgres()) === undefined)(`on postgres, ${TITLE}`, async () => {
  const server = await startPostgres({ settings: { wal_recycle: "off", wal_compression: "off" } });
  const asAdmin = async (work: (admin: pg.Client) => Promise<void>): Promise<void> => {
    const admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await work(admin);
    await admin.end();
  };
  /** Large values lie uncompressed, so that a word that is there can be seen. */
  const prepare = (): Promise<void> =>
    asAdmin(async (admin) => {
      const { rows } = await admin.query(
        "SELECT format('ALTER TABLE %I.%I ALTER COLUMN %I SET STORAGE EXTERNAL', table_schema, table_name, column_name) AS change" +
          " FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)" +
          " WHERE table_schema NOT IN ('pg_catalog', 'information_schema') AND table_type = 'BASE TABLE'" +
          " AND data_type IN ('bytea', 'text', 'jsonb')",
      );
      expect(rows.length).toBeGreaterThan(3);
      for (const { change } of rows) await admin.query(change);
    });
  // What the receipts ask for: samples that the server took by itself and dead rows go, and segments of the log are given back instead of used again.
  const tidy = (): Promise<void> =>
    asAdmin(async (admin) => {
      const steps = ["ANALYZE", "VACUUM FULL", "CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT"];
      for (const step of steps) await admin.query(step);
    });
  try {
    const place = { threads: server.url, items: server.url, directory: join(server.folder, "data") };
    await campaign("postgres", { ...place, prepare, whileStopped: stopping(server), tidy });
  } finally {
    await server.stop();
  }
});
