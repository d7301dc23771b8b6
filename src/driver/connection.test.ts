import { describe, expect, test } from "vitest";
import { connectionFor, type Lease, SharedConnection } from "./connection.ts";

/** A source that counts, and whose openings can be told to fail or to wait. */
function counted() {
  const events: string[] = [];
  const source = {
    failures: [] as string[],
    gate: Promise.resolve(),
    events,
    shared: new SharedConnection<number>({
      open: async () => {
        await source.gate;
        const failure = source.failures.shift();
        if (failure !== undefined) throw new Error(failure);
        const made = events.filter((event) => event.startsWith("open")).length + 1;
        events.push(`open ${made}`);
        return made;
      },
      close: async (opened) => {
        events.push(`close ${opened}`);
      },
    }),
  };
  return source;
}

const itself = async (opened: number): Promise<number> => opened;

describe("one connection, many facets", () => {
  test("it is opened once, at the first use, and closed with the last lease", async () => {
    const { shared, events } = counted();
    const [log, store] = [shared.lease(itself), shared.lease(itself)];
    expect(events).toEqual([]);
    expect(await Promise.all([log.get(), store.get()])).toEqual([1, 1]);
    await log.release();
    expect(events).toEqual(["open 1"]);
    expect(await store.get()).toBe(1);
    await store.release();
    expect(events).toEqual(["open 1", "close 1"]);
  });

  test.each(permutations(["log", "store", "saver"]))(
    "released in the order %s, %s, %s, it is closed by the last",
    async (...order) => {
      const { shared, events } = counted();
      const leases = new Map<string, Lease<number>>(order.map((name) => [name, shared.lease(itself)]));
      for (const lease of leases.values()) await lease.get();
      for (const [index, name] of order.entries()) {
        await leases.get(name)?.release();
        expect(events).toEqual(index === 2 ? ["open 1", "close 1"] : ["open 1"]);
        for (const rest of order.slice(index + 1)) expect(await leases.get(rest)?.get()).toBe(1);
      }
    },
  );

  test("what is prepared once is not prepared again, and a lease that was never used keeps it open as well", async () => {
    const { shared, events } = counted();
    let times = 0;
    const used = shared.lease(async () => ++times);
    const [unused, held] = [shared.lease(itself), shared.lease(itself)];
    expect(await used.opened()).toBeUndefined();
    expect(await Promise.all([used.get(), used.get()])).toEqual([1, 1]);
    expect(await used.opened()).toBe(1);
    await used.release();
    expect(await unused.get()).toBe(1);
    await unused.release();
    expect(events).toEqual(["open 1"]);
    await held.release();
    expect(events).toEqual(["open 1", "close 1"]);
  });

  test("a released lease is CLOSED, and releasing it twice releases it once", async () => {
    const { shared, events } = counted();
    const [log, store] = [shared.lease(itself), shared.lease(itself)];
    await store.get();
    await Promise.all([log.release(), log.release()]);
    await log.release();
    await expect(log.get()).rejects.toMatchObject({ code: "CLOSED" });
    expect(events).toEqual(["open 1"]);
  });

  test("a connection that was never used is neither opened nor closed", async () => {
    const { shared, events } = counted();
    await Promise.all([shared.lease(itself).release(), shared.lease(itself).release()]);
    expect(events).toEqual([]);
  });

  test("a lease that is taken after the last one was released opens it again", async () => {
    const { shared, events } = counted();
    const first = shared.lease(itself);
    await first.get();
    await first.release();
    const second = shared.lease(itself);
    expect(await second.get()).toBe(2);
    await second.release();
    expect(events).toEqual(["open 1", "close 1", "open 2", "close 2"]);
  });

  test.each([0, 1, 2, 3, 4, 5])(
    "a lease that is taken %i turns into the release of the last one is never on what is closed",
    async (turns) => {
      const { shared, events } = counted();
      const first = shared.lease(itself);
      await first.get();
      const closing = first.release();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const second = shared.lease(itself);
      const opened = await second.get();
      await closing;
      expect(events).toContain(`open ${opened}`);
      expect(events).not.toContain(`close ${opened}`);
      await second.release();
      expect(events.at(-1)).toBe(`close ${opened}`);
    },
  );

  test("it is told when the first lease is taken and when the last one was released, used or not", async () => {
    const events: string[] = [];
    let times = 0;
    const shared = new SharedConnection({
      open: async () => 1,
      close: async () => void events.push("close"),
      held: () => {
        const time = ++times;
        events.push(`held ${time}`);
        return () => void events.push(`let go ${time}`);
      },
    });
    const [used, unused] = [shared.lease(itself), shared.lease(itself)];
    await used.get();
    await used.release();
    expect(events).toEqual(["held 1"]);
    await unused.release();
    await shared.lease(itself).release();
    expect(events).toEqual(["held 1", "close", "let go 1", "held 2", "let go 2"]);
  });

  test("a release waits for the opening that is under way, and closes what it opened", async () => {
    const source = counted();
    let open = (): void => undefined;
    source.gate = new Promise((resolve) => {
      open = resolve;
    });
    const lease = source.shared.lease(itself);
    const opening = lease.get();
    const closing = lease.release();
    open();
    expect(await opening).toBe(1);
    await closing;
    expect(source.events).toEqual(["open 1", "close 1"]);
  });

  test("a failed opening is forgotten, and the next call tries again", async () => {
    const source = counted();
    source.failures.push("away");
    const [log, store] = [source.shared.lease(itself), source.shared.lease(itself)];
    const both = await Promise.allSettled([log.get(), store.get()]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await log.get()).toBe(1);
    expect(await store.get()).toBe(1);
  });

  test("a failed preparation is its facet's own: the others go on, on what is open", async () => {
    const { shared, events } = counted();
    let mayCreate = false;
    const [log, store] = [
      shared.lease(itself),
      shared.lease(async (opened) => {
        if (!mayCreate) throw new Error("may not create");
        return opened;
      }),
    ];
    await log.get();
    await expect(store.get()).rejects.toThrow("may not create");
    expect(await log.get()).toBe(1);
    mayCreate = true;
    expect(await store.get()).toBe(1);
    expect(events).toEqual(["open 1"]);
  });

  test("where no other caller uses it, a failed preparation closes it, and the next call opens it anew", async () => {
    const { shared, events } = counted();
    const [lease] = [
      shared.lease(async (opened) => {
        if (opened === 1) throw new Error("read-only");
        return opened;
      }),
      shared.lease(itself),
    ];
    await expect(lease.get()).rejects.toThrow("read-only");
    expect(events).toEqual(["open 1", "close 1"]);
    expect(await lease.get()).toBe(2);
  });
});

describe("the connection that a facet is given", () => {
  class Kind extends SharedConnection<number> {}
  const make = (): Kind => new Kind({ open: async () => 1, close: async () => undefined });
  const taker = { factory: "aStore", opener: "aConnection" };
  const take = (given: object): Kind => connectionFor(taker, given, Kind, { url: "string" }, make);

  test("is the one it works with; without one it makes its own", () => {
    const connection = make();
    expect(take({ connection })).toBe(connection);
    expect(take({ url: "a:" })).toBeInstanceOf(Kind);
  });

  test("is refused where it is something else, or stands beside options of a connection", () => {
    expect(() => take({ connection: { connect: 1 } })).toThrow(/aStore\(\): connection must be what aConnection\(\)/);
    expect(() => take({ connection: make(), url: "a:" })).toThrow(/url is the connection's own; .* aConnection\(\)/);
  });
});

function permutations(of: readonly string[]): string[][] {
  if (of.length < 2) return [[...of]];
  return of.flatMap((first) => permutations(of.filter((one) => one !== first)).map((rest) => [first, ...rest]));
}
