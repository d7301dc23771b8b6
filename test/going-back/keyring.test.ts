import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { MemoryStoreDriver } from "../../src/backends/memory/store-driver.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { Store } from "../../src/store/store.ts";
import { conversation, loaded, textsOf } from "../../src/testing/checkpointer-cases/conversations.ts";
import { manualClock } from "../../src/testing/manual-clock.ts";
import { RewindableStoreDriver } from "../broken/stores/rewindable-driver.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";

test("the key of a tenant that the store of the keys lost is put back by a process that has it", async () => {
  const clock = manualClock();
  const driver = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
  const { keyring, options } = await sampleKeyring({ store: new Store(driver), now: clock.now });
  const log = new MemoryLog();
  const tenant = (threadId: string): string => threadId.split("/")[0] ?? "";
  const open = (ring: Keyring) => new Checkpointer(log, { sealing: new Sealing({ keyring: ring, tenant }) });
  const live = open(keyring);
  const restore = await driver.copy();
  await live.save(conversation(1), "a/before");
  await restore();
  clock.advance(31_000);
  await live.save(conversation(2), "a/after");
  const other = open(await Keyring.open(options));
  for (const threadId of ["a/before", "a/after"]) {
    expect(textsOf(await loaded(other, threadId))[0]).toBe("message 1");
  }
});

test("where another process has made the tenant a key since, what is sealed from then on opens for both", async () => {
  const clock = manualClock();
  const driver = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
  const { keyring, options } = await sampleKeyring({ store: new Store(driver), now: clock.now });
  const stores = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
  const open = (ring: Keyring) => new Store(new Sealing({ keyring: ring }).overStore(stores));
  const live = open(keyring);
  const restore = [await driver.copy(), await stores.copy()];
  await live.put(["notes"], "lost", "lost");
  for (const each of restore) await each();
  const other = open(await Keyring.open(options));
  await other.put(["notes"], "theirs", "theirs");
  clock.advance(31_000);
  await live.put(["notes"], "mine", "mine");
  for (const store of [live, other, open(await Keyring.open(options))]) {
    expect(await store.get(["notes"], "mine")).toBe("mine");
    expect(await store.get(["notes"], "theirs")).toBe("theirs");
    expect(await store.get(["notes"], "lost")).toBeUndefined();
  }
});

test("while the store of the keys is away, what needs no new key is sealed on", async () => {
  const clock = manualClock();
  const driver = new RewindableStoreDriver(() => new MemoryStoreDriver(clock));
  const { keyring } = await sampleKeyring({ store: new Store(driver, { retry: { attempts: 1 } }), now: clock.now });
  const checkpointer = new Checkpointer(new MemoryLog(), { sealing: new Sealing({ keyring }) });
  await checkpointer.save(conversation(1), "t");
  clock.advance(31_000);
  const comeBack = await driver.outage();
  await checkpointer.save(conversation(1), "u");
  await comeBack();
  await checkpointer.save(conversation(1), "v");
  expect(textsOf(await loaded(checkpointer, "u"))).toEqual(["message 1"]);
});
