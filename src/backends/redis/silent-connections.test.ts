import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { HELD_MS, HeldTimers } from "../../../test/held-timers.ts";
import { type CuttingProxy, DIRECTIONS, startCuttingProxy } from "../../../test/network/cutting-proxy.ts";
import { CLIENT_KINDS, describeWithOwnRedis, endClient, said } from "../../../test/redis/fixtures.ts";
import { startRedis } from "../../../test/services/redis.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import { textOf, userMessage } from "../../state/message.ts";
import { type RedisCheckpointerOptions, redisCheckpointer } from "./index.ts";

const LIMITS = { commandTimeoutMs: HELD_MS, connectTimeoutMs: 60_000 };

await describeWithOwnRedis("connections that fall silent", () => {
  let server: TestServer;
  let limits: HeldTimers;
  const opened: { close(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    server = await startRedis();
    limits = new HeldTimers();
  });
  afterAll(async () => {
    limits.release();
    await server.stop();
  });
  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close();
  });

  async function proxied(): Promise<{ proxy: CuttingProxy; url: string }> {
    const proxy = await startCuttingProxy({ targetPort: server.port });
    opened.push(proxy);
    const place = new URL(server.url);
    place.port = String(proxy.port);
    return { proxy, url: place.href };
  }

  function opening(options: RedisCheckpointerOptions) {
    const checkpointer = redisCheckpointer({ ...LIMITS, ...options });
    opened.push(checkpointer);
    return checkpointer;
  }

  /**
   * The answer to what is sent into silence: its time passes once, after all but the silent connection had time to act.
   */
  async function lateOnce<T>(work: Promise<T>): Promise<T> {
    await limits.untilOneWaits();
    await sleep(100);
    limits.expire();
    return work;
  }

  /** Past the proxy: what is really stored. */
  async function assertThere(threadId: string, texts: readonly string[]): Promise<void> {
    const direct = opening({ url: server.url });
    expect((await direct.load(threadId))?.messages.map(textOf)).toEqual(texts);
    expect(await direct.listCheckpoints(threadId)).toHaveLength(texts.length);
  }

  describe.for(CLIENT_KINDS)("with $name", ({ library, make, name }) => {
    const ways: readonly { way: string; open: (url: string) => RedisCheckpointerOptions }[] = [
      ...(library === undefined ? [] : [{ way: "a URL", open: (url: string) => ({ url, library }) }]),
      {
        way: "a client that was handed in",
        open: (url) => {
          const client = make(url);
          opened.push({ close: () => endClient(client) });
          return { client };
        },
      },
    ];

    describe.for(ways)("and $way", ({ way, open }) => {
      test.for([
        ["nothing arrives", DIRECTIONS],
        ["no answer arrives", ["to client"] as const],
      ] as const)(
        "a call that timed out abandons its connection, and the next one is answered (%s)",
        async ([, directions]) => {
          const id = `${name} ${way} ${directions.length}`;
          const { proxy, url } = await proxied();
          const checkpointer = opening(open(url));
          let state = said("one");
          await checkpointer.save(state, id);
          for (const text of ["two", "three"]) {
            proxy.silence(...directions);
            state = state.withMessage(userMessage(text));
            await lateOnce(checkpointer.save(state, id));
          }
          proxy.silence(...directions);
          expect((await lateOnce(checkpointer.load(id)))?.messages).toHaveLength(3);
          await assertThere(id, ["one", "two", "three"]);
          const before = proxy.connections;
          for (let index = 0; index < 5; index++) await checkpointer.load(id);
          expect(proxy.connections).toBe(before);
        },
      );

      test("concurrent calls on a dead connection all succeed, over one new connection", async () => {
        const { proxy, url } = await proxied();
        const checkpointer = opening(open(url));
        const ids = Array.from({ length: 20 }, (_, index) => `${name} ${way} together ${index}`);
        const states = ids.map((id) => said(`one of ${id}`));
        await Promise.all(ids.map((id, index) => checkpointer.save(states[index]!, id)));
        const before = proxy.connections;
        proxy.silence(...DIRECTIONS);
        const saves = ids.map((id, index) =>
          checkpointer.save(states[index]!.withMessage(userMessage("two")), id).then(() => "saved"),
        );
        expect(new Set(await lateOnce(Promise.all(saves)))).toEqual(new Set(["saved"]));
        for (const id of ids) await assertThere(id, [`one of ${id}`, "two"]);
        expect(proxy.connections).toBe(before + 1);
      });

      test("a connection that falls silent while it is being established is abandoned too", async () => {
        const id = `${name} ${way} being made`;
        const { proxy, url } = await proxied();
        const checkpointer = opening({
          ...open(url),
          commandTimeoutMs: 400,
          connectTimeoutMs: 300,
          retry: { attempts: 2 },
        });
        const state = said("one");
        await expect.poll(() => checkpointer.save(state, id).then(() => "saved", String)).toBe("saved");
        proxy.swallow("to client");
        const next = state.withMessage(userMessage("two"));
        await expect(checkpointer.save(next, id)).rejects.toMatchObject({ code: "TIMEOUT", retryable: true });
        proxy.silence(...DIRECTIONS);
        await expect.poll(() => checkpointer.save(next, id).then(() => "saved", String)).toBe("saved");
        await assertThere(id, ["one", "two"]);
      });
    });
  });
});
