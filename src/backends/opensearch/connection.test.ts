import { inspect } from "node:util";
import { Client } from "@opensearch-project/opensearch";
import { afterAll, describe, expect, test } from "vitest";
import { AT_ONCE_MS, endingOf } from "../../../test/ending.ts";
import { startCuttingProxy } from "../../../test/network/cutting-proxy.ts";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Lease } from "../../driver/connection.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { optionsOfUrl } from "./checkpointer.ts";
import type { OpenSearchClient } from "./connect.ts";
import { type OpensearchConnection, opensearchCheckpointer, opensearchConnection } from "./index.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

/** A second facet, as small as possible: the name of the cluster. */
class ClusterName {
  readonly #client: Lease<OpenSearchClient>;

  constructor(connection: OpensearchConnection) {
    this.#client = connection.lease(async (client) => client);
  }

  async get(path = "/"): Promise<unknown> {
    const client = await this.#client.get();
    const { body } = await client.transport.request({ method: "GET", path }, {});
    return (body as { cluster_name?: unknown }).cluster_name;
  }

  close(): Promise<void> {
    return this.#client.release();
  }
}

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);

  /** Both facets over one connection, through a proxy that counts. */
  async function both() {
    const { hostname, port } = new URL(url);
    const proxy = await startCuttingProxy({ targetPort: Number(port), targetHost: hostname });
    const { hosts: _, ...rest } = optionsOfUrl(index.namespace());
    const connection = opensearchConnection({ hosts: `http://${proxy.host}:${proxy.port}`, requestTimeoutMs: 20_000 });
    const checkpointer = opensearchCheckpointer({ ...rest, connection, retry: { attempts: 1 } });
    return { proxy, connection, checkpointer, cluster: new ClusterName(connection) };
  }

  describe("a log and a second facet over one connection", () => {
    test("use one client: consecutive calls of either facet use one socket", async () => {
      const { proxy, checkpointer, cluster } = await both();
      for (let round = 0; round < 3; round++) {
        await checkpointer.save(said("hello"), `t${round}`);
        expect(await cluster.get()).toEqual(expect.any(String));
      }
      expect(proxy.connections).toBe(1);
      await Promise.all([checkpointer.close(), cluster.close()]);
      await proxy.close();
    });

    test.for(["first", "last"])("the log is closed %s: the other still works", async (which) => {
      const { proxy, checkpointer, cluster } = await both();
      await checkpointer.save(said("hello"), "t1");
      await cluster.get();
      const underWay = which === "first" ? cluster.get() : checkpointer.load("t1");
      await (which === "first" ? checkpointer : cluster).close();
      expect(await underWay).toBeDefined();
      if (which === "first") {
        await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "CLOSED" });
        expect(await cluster.get()).toEqual(expect.any(String));
      } else {
        await expect(cluster.get()).rejects.toMatchObject({ code: "CLOSED" });
        expect((await checkpointer.load("t1"))?.messages).toHaveLength(1);
      }
      await Promise.all([checkpointer.close(), cluster.close()]);
      await proxy.close();
    });

    test("a cluster that cannot be reached is tried again by the next call of either", async () => {
      const { proxy, checkpointer, cluster } = await both();
      proxy.refuse();
      await expect(checkpointer.load("t1")).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await expect(cluster.get()).rejects.toThrow();
      proxy.restore();
      await checkpointer.save(said("hello"), "t1");
      expect(await cluster.get()).toEqual(expect.any(String));
      await Promise.all([checkpointer.close(), cluster.close()]);
      await proxy.close();
    });

    test("a client that was handed in survives both", async () => {
      const client = new Client({ node: httpUrl(url) }) as unknown as OpenSearchClient;
      const { hosts: _, ...rest } = optionsOfUrl(index.namespace());
      const connection = opensearchConnection({ client });
      const checkpointer = opensearchCheckpointer({ ...rest, connection });
      const cluster = new ClusterName(connection);
      await Promise.all([checkpointer.save(said("hello"), "t1"), cluster.get()]);
      await cluster.close();
      await checkpointer.close();
      expect((await client.transport.request({ method: "GET", path: "/" }, {})).body).toBeDefined();
      await client.close();
    });

    test("a program that closes neither ends by itself", async () => {
      const ending = await endingOf("opensearch", index.namespace());
      const { code, said: words, complaints, lingeredMs } = ending;
      expect({ code, words, complaints }).toEqual({ code: 0, words: ["loaded", "loaded"], complaints: [] });
      expect(lingeredMs).toBeLessThan(AT_ONCE_MS);
    });
  });

  test("a connection shows no password when printed", () => {
    const connection = opensearchConnection({ hosts: "https://me:s3cret-word@search.example" });
    expect(connection.secrets).toContain("s3cret-word");
    const printed = inspect(connection, { depth: 10, showHidden: true }) + JSON.stringify(connection);
    expect(printed).not.toContain("s3cret-word");
  });

  test("options that belong to the connection are refused beside one, and so is a value that is not a connection", () => {
    const connection = opensearchConnection();
    const make = (options: object) => () => opensearchCheckpointer({ connection, ...options });
    expect(make({ hosts: "https://a" })).toThrow(/hosts is the connection's own; give it to opensearchConnection/);
    expect(make({ requestTimeoutMs: 1 })).toThrow(/requestTimeoutMs is the connection's own/);
    expect(make({ connection: {} })).toThrow(/connection must be what opensearchConnection\(\) returned/);
    expect(() => opensearchConnection({ indexName: "a" } as never)).toThrow(/opensearchConnection\(\).*indexName/);
  });
});
