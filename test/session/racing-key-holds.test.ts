import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { postgresqlStore } from "../../src/backends/postgres/index.ts";
import { sqliteStore } from "../../src/backends/sqlite/index.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import { StateError } from "../../src/errors.ts";
import { environmentKeys, newOuterKey } from "../../src/sealing/keys/key-provider.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import type { BaseStore } from "../../src/store/base-store.ts";
import { Store } from "../../src/store/store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { describeWithService } from "../services/with-service.ts";
import { KEY } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-racing-keys-"));
afterAll(() => rm(folder, { recursive: true }));

const ask = { by: "counsel@example.com", reason: "case 17" };
const VARIABLE = `HOLDFAST_TEST_RACING_KEYS_${process.pid}`;
process.env[VARIABLE] = newOuterKey();

/** One process: its own connection to the store of the keys, its own keyring, the same threads and the same ledger. */
interface Process {
  readonly keys: BaseStore;
  readonly checkpointer: Checkpointer;
  readonly data: PersonalData;
}

/** The one suite for every backend. `open` is what another process would open on the same store of keys. */
function racingKeyHolds(create: () => Promise<{ readonly open: () => Promise<BaseStore> }>): void {
  const processes = async (): Promise<readonly [Process, Process]> => {
    const { open } = await create();
    const [log, ledger] = [new MemoryLog(), new InMemoryStore()];
    const provider = environmentKeys(VARIABLE);
    const process = async (keys: BaseStore, keyring: Keyring): Promise<Process> => {
      const checkpointer = new Checkpointer(new PrefixLog(log, ""), { sealing: new Sealing({ keyring }) });
      return { keys, checkpointer, data: new PersonalData({ checkpointers: [checkpointer], ledger, key: KEY }) };
    };
    const [one, two] = [await open(), await open()];
    const made = await process(one, await Keyring.create({ store: one, provider }));
    return [made, await process(two, await Keyring.open({ store: two, provider }))];
  };

  /** Calls back right before the key of a person would be destroyed. */
  const beforeDestruction = (store: BaseStore, work: () => Promise<unknown>): { readonly times: number } => {
    const put = store.put.bind(store);
    const counted = { times: 0 };
    store.put = async (namespace, key, value, options) => {
      const isEnd = namespace[1] === "people" && (value as { key?: unknown }).key === null;
      if (isEnd && counted.times++ === 0) await work();
      return put(namespace, key, value, options);
    };
    return counted;
  };

  const fill = async ({ checkpointer }: Process): Promise<void> => {
    for (const subject of ["ann", "bob"]) {
      const state = AgentState.create({ metadata: { subject } }).withMessage(userMessage(`${subject}: tea`));
      await checkpointer.save(state, `of ${subject}`);
    }
  };

  const close = async (all: readonly Process[]): Promise<void> => {
    for (const { checkpointer, keys } of all) {
      await checkpointer.close();
      await keys.close();
    }
  };

  test("a person's key stays when another process places a hold on them right before it is destroyed", async () => {
    const [worker, other] = await processes();
    await fill(other);
    // Saved after the erasure came to the threads: only the key would take it away.
    const late = AgentState.create({ metadata: { subject: "ann" } }).withMessage(userMessage("ann: rum"));
    const counted = beforeDestruction(worker.keys, async () => {
      await other.checkpointer.save(late, "late");
      await other.data.placeHold({ subject: "ann", ...ask });
    });
    const outcome = await worker.data.eraseUser("ann").catch((error: unknown) => error);
    expect(counted.times, "it came to the point where the key is destroyed").toBeGreaterThan(0);
    expect(StateError.is(outcome, "HELD") && outcome.context.holds).toMatchObject([{ reason: "case 17" }]);
    expect((await other.checkpointer.load("late"))?.messages[0]?.content).toBe("ann: rum");
    const found = await other.data.inventory("ann");
    expect(found.places.filter(({ kind }) => kind === "key")).toHaveLength(1);
    const [hold] = await other.data.holds();
    await other.data.liftHold(hold?.id ?? "", ask);
    await worker.data.resume();
    expect((await other.data.inventory("ann")).total).toBe(0);
    await close([worker, other]);
  });

  test("a hold on another person that is placed meanwhile does not keep the key", async () => {
    const [worker, other] = await processes();
    await fill(other);
    const counted = beforeDestruction(worker.keys, () => other.data.placeHold({ subject: "bob", ...ask }));
    const receipt = await worker.data.eraseUser("ann");
    expect(counted.times).toBe(1);
    expect(receipt.places.reduce((sum, { keys }) => sum + keys, 0)).toBe(1);
    expect((await other.data.inventory("ann")).total).toBe(0);
    expect((await other.checkpointer.load("of bob"))?.messages[0]?.content).toBe("bob: tea");
    await close([worker, other]);
  });
}

describe("memory", () =>
  racingKeyHolds(async () => {
    const driver = new MemoryStoreDriver();
    return { open: async () => new Store(driver) };
  }));

describe("sqlite", () =>
  racingKeyHolds(async () => {
    const path = join(await mkdtemp(join(folder, "sqlite-")), "keys.db");
    return { open: async () => sqliteStore({ path }) };
  }));

let places = 0;

await describeWithService("postgres", (dsn) => {
  racingKeyHolds(async () => {
    const schema = `racing_keys_${process.pid}_${Date.now()}_${places++}`;
    return { open: async () => postgresqlStore({ dsn, schema }) };
  });
});
