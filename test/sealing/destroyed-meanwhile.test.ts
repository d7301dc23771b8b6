import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { HEAD_BYTES, openBox } from "../../src/sealing/keys/box.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import type { StoreDriver } from "../../src/store/driver/store-driver.ts";
import { accessOf } from "../../src/store/items/store-access.ts";
import { sampleKeyring } from "./sample-keyring.ts";
import { boxesIn, boxesInItem, type OwnBox } from "./stored-boxes.ts";

/**
 * A person's key is destroyed at every point at which a save waits for something,
 * before the call is made and behind it.
 */

/** Calls `act` at the point of that number. */
class Points {
  #next = Number.POSITIVE_INFINITY;
  #act: () => Promise<unknown> = async () => undefined;

  at(point: number, act: () => Promise<unknown>): void {
    this.#next = point;
    this.#act = act;
  }

  /** Whether the point was reached. */
  end(): boolean {
    const reached = this.#next < 0;
    this.#next = Number.POSITIVE_INFINITY;
    return reached;
  }

  watching<Part extends object>(part: Part, names: readonly string[]): Part {
    return new Proxy(part, {
      get: (target, name) => {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (!names.includes(String(name))) return value.bind(target);
        return async (...given: readonly unknown[]) => {
          await this.#pass();
          const answer = await value.apply(target, given);
          await this.#pass();
          return answer;
        };
      },
    });
  }

  async #pass(): Promise<void> {
    if (this.#next-- === 0) await this.#act();
  }
}

const driverOf = (store: InMemoryStore): StoreDriver => {
  const driver = accessOf(store)?.driver;
  if (driver === undefined) throw new Error("a store without a driver");
  return driver;
};

const over = (driver: StoreDriver): InMemoryStore => new InMemoryStore({ sealing: { overStore: () => driver } });

/** One process that saves, whose calls are points, and another one. */
async function place(cacheMs: number) {
  const points = new Points();
  const keys = driverOf(new InMemoryStore());
  const clock = { at: 1_000_000 };
  const { keyring: elsewhere, options } = await sampleKeyring({ store: over(keys), cacheMs: 0 });
  const keyring = await Keyring.open({
    ...options,
    store: over(points.watching(keys, ["read", "write", "scan"])),
    cacheMs,
    now: () => clock.at,
  });
  const log = new MemoryLog();
  const items = driverOf(new InMemoryStore());
  const sealing = new Sealing({ keyring });
  const watched = points.watching<ThreadLog>(log, ["append", "tail", "readTail", "readRecords", "entry", "copy"]);
  const destroy = async (ring: Keyring, subject: string): Promise<void> => {
    const [key] = await elsewhere.personKeys("", [subject]);
    await ring.destroy(key?.id.split(".")[0] ?? "");
  };
  return {
    points,
    clock,
    keyring,
    elsewhere,
    log,
    items,
    destroy,
    checkpointer: new Checkpointer(watched, { sealing }),
    store: new InMemoryStore({
      sealing: { overStore: () => sealing.overStore(points.watching(items, ["read", "write", "scan"])) },
    }),
    /** Another process, which has no key in memory. */
    reader: () => {
      const own = new Sealing({ keyring: elsewhere });
      return {
        checkpointer: new Checkpointer(log, { sealing: own }),
        store: new InMemoryStore({ sealing: { overStore: () => own.overStore(items) } }),
      };
    },
  };
}

/** Each names a person's key, and does not open with fewer keys than it names. */
function expectKeyed(boxes: readonly OwnBox[], known: ReadonlyMap<string, Uint8Array>, when: string): void {
  for (const { ids, box, at } of boxes) {
    expect(ids.length, when).toBeGreaterThan(0);
    expect(box.byteLength, when).toBeGreaterThanOrEqual(HEAD_BYTES);
    const fewer = ids.length > 1 ? ids.flatMap((id) => known.get(id) ?? []) : [];
    for (const key of [Buffer.alloc(0), Buffer.alloc(32), ...fewer]) expect(opens(key, box, at), when).toBe(false);
  }
}

function opens(key: Uint8Array, box: Buffer, at: Buffer): boolean {
  try {
    return openBox(key, box, at) !== undefined;
  } catch {
    return false;
  }
}

const SECRET = "zebra";
const about = (subject: string, text: string) => ({ ...userMessage(text), metadata: { subject } });

/** What is done at a point: the key is destroyed, here or elsewhere, and perhaps what is cached here expires just then. */
const ACTS = ["destroyed here", "destroyed elsewhere", "destroyed elsewhere, and forgotten here"] as const;

/** Ways to save something about Ada, in a thread or an item that is about her already. */
const SAVES: Readonly<Record<string, (at: Awaited<ReturnType<typeof place>>) => Promise<() => Promise<unknown>>>> = {
  "a message in her thread": async ({ checkpointer }) => {
    const first = AgentState.create({ metadata: { subject: "ada" } }).withMessage(userMessage(`${SECRET} 1`));
    await checkpointer.save(first, "t");
    return () => checkpointer.save(first.withMessage(userMessage(`${SECRET} 2`)), "t");
  },
  "a message about her and Bob": async ({ checkpointer }) => {
    const first = AgentState.create({ metadata: { subject: ["ada", "bob"] } }).withMessage(userMessage(`${SECRET} 1`));
    await checkpointer.save(first, "t");
    return () => checkpointer.save(first.withMessage(about("bob", `${SECRET} 2`)), "t");
  },
  "the first record of her thread": async ({ checkpointer, keyring }) => {
    await keyring.personKeys("", ["ada"]);
    const state = AgentState.create({ metadata: { subject: "ada" } }).withMessage(userMessage(`${SECRET} 1`));
    return () => checkpointer.save(state, "t");
  },
  "values that are hers": async ({ checkpointer }) => {
    const first = AgentState.create({ providerState: { note: attributed("ada", `${SECRET} 1`), other: 1 } });
    await checkpointer.save(first, "t", { metadata: { whose: attributed("ada", SECRET) } });
    return () =>
      checkpointer.save(first.withMessage(about("ada", `${SECRET} 2`)), "t", {
        metadata: { whose: attributed("ada", `${SECRET} 2`) },
      });
  },
  "a message that is sent to her thread": async ({ checkpointer }) => {
    const first = AgentState.create({ metadata: { subject: "ada" } }).withMessage(userMessage(`${SECRET} 1`));
    await checkpointer.save(first, "t");
    return () => checkpointer.send("t", { message: about("ada", `${SECRET} 2`) });
  },
  "an answer that is sent to a thread in which she is named": async ({ checkpointer }) => {
    await checkpointer.save(AgentState.create().withMessage(about("ada", `${SECRET} 1`)), "t");
    return () => checkpointer.send("t", { answer: { id: "call/1", response: { text: `${SECRET} 2` } } });
  },
  "a copy of her thread": async ({ checkpointer }) => {
    const first = AgentState.create({ metadata: { subject: "ada" } }).withMessage(userMessage(`${SECRET} 1`));
    await checkpointer.save(first, "s");
    return () => checkpointer.copyThread("s", "t");
  },
  "an item of hers": async ({ store }) => {
    await store.put(["notes"], "a", { text: `${SECRET} 1` }, { metadata: { subject: "ada" } });
    return () => store.put(["notes"], "a", { text: `${SECRET} 2` }, { metadata: { subject: "ada" } });
  },
  "an item in which she is named": async ({ store }) => {
    await store.put(["notes"], "a", { text: attributed("ada", `${SECRET} 1`), other: "giraffe" });
    return () => store.put(["notes"], "a", { text: attributed("ada", `${SECRET} 2`), other: "giraffe" });
  },
};

describe.each(Object.keys(SAVES))("while %s is saved", (name) => {
  test.each(ACTS)("her key is %s: no byte that is stored opens without a key", async (act) => {
    // Without a cache there is nothing to be forgotten.
    for (const cacheMs of act === "destroyed elsewhere, and forgotten here" ? [30_000] : [0, 30_000]) {
      let reached = true;
      for (let point = 0; reached; point++) {
        const at = await place(cacheMs);
        const save = await SAVES[name]?.(at);
        if (save === undefined) throw new Error(name);
        const before = await at.elsewhere.personKeys("", ["ada", "bob"]);
        const known = new Map(before.map(({ id, key }) => [id, key]));
        const when = `${act} at point ${point}, cached for ${cacheMs} ms`;
        at.points.at(point, async () => {
          at.points.end();
          at.points.at(-1, async () => undefined);
          await at.destroy(act === "destroyed here" ? at.keyring : at.elsewhere, "ada");
          if (act === "destroyed elsewhere, and forgotten here") at.clock.at += cacheMs + 1;
        });
        await save();
        reached = at.points.end();
        for (const threadId of ["s", "t"]) {
          for (const record of (await at.log.readRecords(threadId, { limit: 100 }))?.records ?? []) {
            expectKeyed(await boxesIn(at.elsewhere, threadId, record), known, when);
          }
        }
        for (const item of await at.items.scan(
          { namespace: [], recursive: true, condition: undefined },
          { limit: 9 },
        )) {
          expectKeyed(await boxesInItem(at.elsewhere, item), known, when);
        }
        const { checkpointer, store } = at.reader();
        const loaded = await checkpointer.load("t");
        for (const { content } of loaded?.messages ?? []) {
          if (!String(content).startsWith(SECRET)) expect(content, when).toBe("[erased]");
        }
        await store.getItem(["notes"], "a");
        // What this process saves about her from now on, others can read.
        if (act !== "destroyed elsewhere") {
          const next = AgentState.create().withMessage(about("ada", "she is back"));
          await at.checkpointer.save(next, "next");
          expect((await checkpointer.load("next"))?.messages[0]?.content, when).toBe("she is back");
        }
      }
    }
  });
});

describe("a key that is destroyed", () => {
  test("is not handed out again by the process that destroyed it, however late an earlier look for it ends", async () => {
    const { points, keyring, elsewhere, destroy } = await place(30_000);
    const [ada] = await elsewhere.personKeys("", ["ada"]);
    // The look is answered with the key, which is destroyed before the answer is used.
    points.at(1, () => destroy(keyring, "ada"));
    const [inHand] = await keyring.personKeys("", ["ada"]);
    expect(inHand?.key).toEqual(ada?.key);
    const [after] = await keyring.personKeys("", ["ada"]);
    expect(after?.id).not.toBe(ada?.id);
    expect(keyring.knownKeys([ada?.id ?? ""])?.get(ada?.id ?? "")).toBeUndefined();
  });

  test("is forgotten also where the answer of its destruction was lost", async () => {
    const { points, keyring, elsewhere } = await place(30_000);
    const [ada] = await keyring.personKeys("", ["ada"]);
    points.at(3, () => Promise.reject(new Error("the wire was cut")));
    await keyring.destroy(ada?.id.split(".")[0] ?? "").catch(() => undefined);
    points.end();
    const [theirs] = await elsewhere.personKeys("", ["ada"]);
    const [own] = await keyring.personKeys("", ["ada"]);
    expect(own?.id).toBe(theirs?.id);
  });
});
