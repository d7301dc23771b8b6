import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { HELD_MS, HeldTimers } from "../../../test/held-timers.ts";
import { type CuttingProxy, DIRECTIONS, startCuttingProxy } from "../../../test/network/cutting-proxy.ts";
import { announce, startCluster, type TestCluster } from "../../../test/redis/cluster.ts";
import { CLIENT_KINDS, describeWithOwnRedis, endClient, said } from "../../../test/redis/fixtures.ts";
import { textOf, userMessage } from "../../state/message.ts";
import { type RedisCheckpointerOptions, redisCheckpointer } from "./index.ts";

const LIMITS = { commandTimeoutMs: HELD_MS, connectTimeoutMs: 20_000 };

await describeWithOwnRedis("nodes of a cluster that fall silent", () => {
  let cluster: TestCluster;
  let proxies: readonly CuttingProxy[];
  let url: string;
  let limits: HeldTimers;
  const opened: { close(): Promise<unknown> }[] = [];

  /** The nodes announce the proxies' addresses to all clients. */
  beforeAll(async () => {
    cluster = await startCluster();
    proxies = await Promise.all(cluster.nodes.map(({ port }) => startCuttingProxy({ targetPort: port })));
    await announce(
      cluster,
      proxies.map(({ port }) => port),
    );
    const place = new URL(cluster.url);
    place.port = String(proxies[0]!.port);
    url = place.href;
    limits = new HeldTimers();
  });
  afterAll(async () => {
    limits.release();
    await cluster.stop();
    for (const proxy of proxies) await proxy.close();
  });
  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close();
    for (const proxy of proxies) proxy.restore();
  });

  function opening(options: RedisCheckpointerOptions) {
    const checkpointer = redisCheckpointer({ ...LIMITS, ...options });
    opened.push(checkpointer);
    return checkpointer;
  }

  const connections = (): Promise<readonly number[]> =>
    Promise.all(
      cluster.admins.map(
        async (admin) =>
          String(await admin.client("LIST"))
            .trim()
            .split("\n").length,
      ),
    );

  /** Until only the connection of this check is left. */
  const untilAlone = (): Promise<unknown> => expect.poll(connections).toEqual(cluster.nodes.map(() => 1));

  /** What is sent into silence: its time passes, and that of whatever is sent after it, until it ends. */
  async function lateUntilItEnds<T>(work: Promise<T>): Promise<T> {
    let hasEnded = false;
    const ending = work.finally(() => {
      hasEnded = true;
    });
    ending.catch(() => undefined);
    while (!hasEnded) {
      await sleep(100);
      limits.expire();
    }
    return ending;
  }

  const isOnFirstNode = (id: string): Promise<boolean> =>
    cluster.admins[0]!.exists(`holdfast:t:{${encodeURIComponent(id)}}`).then(Boolean, () => false);

  describe.for(CLIENT_KINDS)("with $name", ({ name, library, makeCluster }) => {
    const ways: readonly { way: string; open: () => RedisCheckpointerOptions }[] = [
      ...(library === undefined ? [] : [{ way: "a URL", open: () => ({ url, library }) }]),
      {
        way: "a client that was handed in",
        open: () => {
          const client = makeCluster(url);
          opened.push({ close: () => endClient(client) });
          return { client };
        },
      },
    ];

    test.for(ways)("every call ends well over new connections, with $way", async ({ way, open }) => {
      await untilAlone();
      const checkpointer = opening(open());
      const ids = Array.from({ length: 9 }, (_, index) => `${name} ${way} ${index}`);
      let states = ids.map(said);
      await Promise.all(ids.map((id, index) => checkpointer.save(states[index]!, id)));
      // Each node in turn, including the one that the URL names; then all of them at once.
      for (const [round, silent] of [...proxies.map((proxy) => [proxy]), proxies].entries()) {
        for (const proxy of silent) proxy.silence(...DIRECTIONS);
        states = states.map((state) => state.withMessage(userMessage(`round ${round}`)));
        const saves = Promise.all(ids.map((id, index) => checkpointer.save(states[index]!, id)));
        await limits.untilOneWaits();
        await sleep(100);
        // Once: no call is sent into silence a second time.
        limits.expire();
        await saves;
      }
      const direct = opening({ url: cluster.url });
      for (const [index, id] of ids.entries()) {
        expect((await direct.load(id))?.messages.map(textOf)).toEqual(states[index]!.messages.map(textOf));
        expect(await direct.listCheckpoints(id)).toHaveLength(5);
      }
      // Replaced clients are released with the rest.
      for (const thing of opened.splice(0).reverse()) await thing.close();
      await untilAlone();
    });

    test.for(ways)(
      "a node that stays silent is a TIMEOUT or UNAVAILABLE of its threads alone, with $way",
      async ({ way, open }) => {
        // The clients have limits of their own, of a second and less: enough attempts to outlast a stall of another node.
        const checkpointer = opening({ ...open(), connectTimeoutMs: 4_000, retry: { attempts: 5 } });
        const ids = Array.from({ length: 8 }, (_, index) => `${name} ${way} stays ${index}`);
        for (const id of ids) await checkpointer.save(said(id), id);
        const [first] = proxies;
        for (const direction of DIRECTIONS) first!.swallow(direction);
        const onFirst = await Promise.all(ids.map(isOnFirstNode));
        expect(new Set(onFirst)).toEqual(new Set([true, false]));
        for (const [index, id] of ids.entries()) {
          const asked: Promise<unknown> = checkpointer.exists(id).catch((error: unknown) => error);
          if (!onFirst[index]) expect(await asked).toBe(true);
          else {
            const code = expect.stringMatching(/^(?:TIMEOUT|UNAVAILABLE)$/);
            expect(await lateUntilItEnds(asked)).toMatchObject({ code });
          }
        }
        first!.restore();
        for (const id of ids) await expect.poll(() => checkpointer.exists(id).catch(String)).toBe(true);
      },
    );
  });
});
