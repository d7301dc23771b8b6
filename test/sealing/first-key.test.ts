import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { beginningOf } from "../../src/checkpoint/log/driver-rules.ts";
import type { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import type { StoreDriver } from "../../src/store/driver/store-driver.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const tenant = (name: string): string => name.split("/")[0]?.split("-")[0] ?? "";
const OTHERS = 60;
const state = AgentState.create().withMessage(userMessage("zebra"));
const ANOTHER_RING = { code: "PERMISSION_DENIED", message: expect.stringContaining("not in the keyring") };

const checkpointerOf = (log: MemoryLog, keyring: Keyring): Checkpointer =>
  new Checkpointer(log, { sealing: new Sealing({ keyring, tenant }) });

describe("a keyring that does not belong to the data", () => {
  test("makes no key for a tenant whose threads come behind those of many others", async () => {
    const log = new MemoryLog();
    const { keyring } = await sampleKeyring();
    const own = checkpointerOf(log, keyring);
    for (let other = 0; other < OTHERS; other++) await own.save(state, `a${other}/t`);
    await own.save(state, "z/t");
    const { keyring: wrong } = await sampleKeyring();
    const checkpointer = checkpointerOf(log, wrong);
    await expect(checkpointer.save(state, "z/new")).rejects.toMatchObject(ANOTHER_RING);
    expect(await wrong.tenantKey("z", { isNew: false })).toBeUndefined();
    expect((await own.load("z/t"))?.messages).toHaveLength(1);
    expect(await own.exists("z/new")).toBe(false);
    await checkpointer.save(state, "new-tenant/t");
    expect((await checkpointer.load("new-tenant/t"))?.messages).toHaveLength(1);
  });

  test("with another key for the tenant, writes nothing beside what is there", async () => {
    const log = new MemoryLog();
    const { keyring } = await sampleKeyring();
    await checkpointerOf(log, keyring).save(state, "z/t");
    const { keyring: wrong } = await sampleKeyring();
    // Its key for that tenant seals the threads of another storage.
    await checkpointerOf(new MemoryLog(), wrong).save(state, "z/t");
    const refused = { code: "CORRUPT", message: expect.stringContaining("the store of the keys is not the one") };
    await expect(checkpointerOf(log, wrong).save(state, "z/new")).rejects.toMatchObject(refused);
    expect((await log.listThreads({ prefix: "", limit: 10 })).items).toHaveLength(1);
  });

  test("seals no item beside those of the tenant, whichever namespaces hold them", async () => {
    const below = accessOf(new InMemoryStore())?.driver as StoreDriver;
    const storeOf = (keyring: Keyring): InMemoryStore =>
      new InMemoryStore({ sealing: { overStore: () => new Sealing({ keyring, tenant }).overStore(below) } });
    const { keyring } = await sampleKeyring();
    for (let other = 0; other < OTHERS; other++) await storeOf(keyring).put([`a${other}`, "notes"], "k", "zebra");
    await storeOf(keyring).put(["z-1", "notes"], "k", "zebra");
    const { keyring: wrong } = await sampleKeyring();
    for (const namespace of [["z-1"], ["z-1", "others"], ["z-2"]]) {
      await expect(storeOf(wrong).put(namespace, "new", "zebra")).rejects.toMatchObject(ANOTHER_RING);
    }
    expect(await wrong.tenantKey("z", { isNew: false })).toBeUndefined();
    await storeOf(wrong).put(["new-tenant"], "k", "zebra");
    expect(await storeOf(keyring).get(["z-1", "notes"], "k")).toBe("zebra");
  });
});

test("what a log says of the keys of its tenants is in no list, and two writers may say it at once", async () => {
  const log = new MemoryLog();
  const { keyring } = await sampleKeyring();
  const [one, other] = [checkpointerOf(log, keyring), checkpointerOf(log, keyring)];
  await Promise.all([one.save(state, "z/1"), other.save(state, "z/2")]);
  expect((await one.listThreads()).map(String).sort()).toEqual(["z/1", "z/2"]);
  expect((await new Checkpointer(log).listThreads()).map(String).sort()).toEqual(["z/1", "z/2"]);
});

test("what a newer version sealed is INCOMPATIBLE, and not damaged", async () => {
  const log = new MemoryLog();
  const { keyring } = await sampleKeyring();
  await checkpointerOf(log, keyring).save(state, "z/t");
  const tail = await log.tail("z/t");
  const [record] = (await log.readTail("z/t"))?.records ?? [];
  if (tail === undefined || record === undefined) throw new Error("no record");
  const newer = { ...record, header: record.header.replace("hs1.", "hs2.") };
  await log.append("z/u", { expected: beginningOf(tail.generation), record: newer });
  await expect(checkpointerOf(log, keyring).load("z/u")).rejects.toMatchObject({ code: "INCOMPATIBLE" });
});
