import { Client } from "@opensearch-project/opensearch";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import { optionsOfUrl } from "./checkpointer.ts";
import type { OpenSearchClient } from "./connect.ts";
import { type OpensearchCheckpointerOptions, opensearchCheckpointer, opensearchIndex } from "./index.ts";

const said = (...texts: readonly string[]): AgentState =>
  AgentState.create({ messages: texts.map((text) => userMessage(text)) });

const opened: Checkpointer[] = [];
afterEach(async () => {
  for (const checkpointer of opened.splice(0)) await checkpointer.close();
});

function open(options: OpensearchCheckpointerOptions): Checkpointer {
  const checkpointer = opensearchCheckpointer({ retry: { attempts: 1 }, ...options });
  opened.push(checkpointer);
  return checkpointer;
}

/** A client that records its requests. */
function recording(client: OpenSearchClient): { readonly client: OpenSearchClient; readonly asked: string[] } {
  const asked: string[] = [];
  const request: OpenSearchClient["transport"]["request"] = (what, options) => {
    asked.push(`${what.method} ${what.path.replace(/^\/[^/]+/, "").replace(/_doc\/.*/, "_doc")}`);
    return client.transport.request(what, options);
  };
  return { asked, client: { transport: { request }, close: () => client.close() } };
}

describe("options", () => {
  test("a URL names the host, the index and what is ours; opensearch:// is https", () => {
    expect(optionsOfUrl("opensearch://a:9200/agents?namespace=bot&replicas=2&waitForActiveShards=all")).toEqual({
      hosts: "https://a:9200/",
      indexName: "agents",
      namespace: "bot",
      replicas: 2,
      waitForActiveShards: "all",
    });
    expect(optionsOfUrl("opensearch+http://a:9200").hosts).toBe("http://a:9200/");
    expect(optionsOfUrl("opensearch+https://a").hosts).toBe("https://a/");
    expect(() => optionsOfUrl("opensearch://a?prefix=x")).toThrow('unknown parameter "prefix"');
  });

  test.each<[string, OpensearchCheckpointerOptions]>([
    ["hosts or a client, not both", { hosts: "https://a", client: {} as OpenSearchClient }],
    ["a host must look like", { hosts: ["ftp://a"] }],
    ["hosts must name at least one", { hosts: [] }],
    ["indexName must be", { indexName: "Upper" }],
    ["indexName must be", { indexName: "../_all" }],
    ["namespace must have at most 512 bytes", { namespace: "n".repeat(40_000) }],
    ["shards must be", { shards: 0 }],
    ["replicas must be", { replicas: -1 }],
    ["waitForActiveShards must be", { waitForActiveShards: 0 }],
    ['has no option "index"', { index: "x" } as OpensearchCheckpointerOptions],
  ])("%s", (message, options) => {
    expect(() => opensearchCheckpointer(options)).toThrow(message);
  });
});

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  const node = httpUrl(url);
  const client = new Client({ node }) as unknown as OpenSearchClient;
  const own: string[] = [];
  afterAll(async () => {
    for (const name of own) await fetch(`${node}/${name}`, { method: "DELETE" });
    await index.remove();
    await client.close();
  });

  /** The name of an index that is removed at the end. */
  function freshName(): string {
    const name = `${index.name}-${own.length + 2}`;
    own.push(name, `${name}-1`);
    return name;
  }
  const put = (path: string, body: object): Promise<Response> =>
    fetch(`${node}/${path}`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const place = (): OpensearchCheckpointerOptions => optionsOfUrl(index.namespace());

  describe("cost", () => {
    test("a save is one request, a load two, or one if nothing is new; they do not refresh the index", async () => {
      const { hosts: _, ...rest } = place();
      const { client: recorder, asked } = recording(client);
      const checkpointer = open({ ...rest, client: recorder });
      let state = said("one");
      await checkpointer.save(state, "t");
      asked.length = 0;
      for (const text of ["two", "three", "four"]) {
        state = state.withMessage(userMessage(text));
        await checkpointer.save(state, "t");
      }
      expect(asked).toEqual(["POST /_bulk", "POST /_bulk", "POST /_bulk"]);
      asked.length = 0;
      await checkpointer.load("t");
      expect(asked).toEqual(["GET /_doc"]);
      const cold = open({ ...rest, client: recorder, cacheBytes: 0 });
      await cold.connect();
      asked.length = 0;
      await cold.load("t");
      expect(asked).toEqual(["GET /_doc", "POST /_mget"]);
      asked.length = 0;
      await checkpointer.listThreads();
      expect(asked).toEqual(["POST /_refresh", "POST /_search"]);
    });
  });

  describe("the index", () => {
    test("is created on first use behind an alias, with a mapping that takes nothing else", async () => {
      const indexName = freshName();
      await open({ hosts: node, indexName, shards: 2, replicas: 0 }).save(said("hello"), "t");
      const [[name, there] = []] = Object.entries((await (await fetch(`${node}/${indexName}`)).json()) as object);
      expect(name).toBe(`${indexName}-1`);
      expect(there).toMatchObject({
        aliases: { [indexName]: {} },
        mappings: { dynamic: "strict", _meta: { holdfast: { part: "checkpoints", version: 1 } } },
        settings: { index: { number_of_shards: "2", number_of_replicas: "0" } },
      });
    });

    test("may be created by a deployment, and need not be an alias", async () => {
      const indexName = freshName();
      const options = { hosts: node, indexName, createIndex: false };
      await expect(open(options).load("t")).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining(`there is no index "${indexName}"`),
      });
      await put(indexName, opensearchIndex({ replicas: 0 }));
      await open(options).save(said("hello"), "t");
      expect((await open(options).load("t"))?.messages).toHaveLength(1);
    });

    const marked = (part: string, version: number): object => ({
      mappings: { _meta: { holdfast: { part, version } } },
    });
    test.each([
      ["of another program", {}, /is not one of holdfast's/],
      ["of a newer version", marked("checkpoints", 2), /was made by a newer version/],
      ["of another part", marked("store", 1), /holds another part of holdfast \("store"\)/],
    ])("%s is refused and not written to", async (_, body, message) => {
      const indexName = freshName();
      await put(indexName, { ...body, settings: { number_of_replicas: 0 } });
      const failure = open({ hosts: node, indexName }).save(said("hello"), "t");
      await expect(failure).rejects.toMatchObject({ code: "INCOMPATIBLE", message: expect.stringMatching(message) });
    });

    test("that is deleted while in use is an error, never 'no thread', and is not recreated without its mapping", async () => {
      const indexName = freshName();
      const checkpointer = open({ hosts: node, indexName, replicas: 0 });
      const state = said("hello");
      await checkpointer.save(state, "t");
      await fetch(`${node}/${indexName}-1`, { method: "DELETE" });
      const calls = {
        load: () => checkpointer.load("t"),
        save: () => checkpointer.save(state.withMessage(userMessage("again")), "t"),
        create: () => checkpointer.save(said("new"), "u"),
        listThreads: () => checkpointer.listThreads(),
        search: () => checkpointer.search("hello"),
      };
      for (const [name, call] of Object.entries(calls)) {
        await expect(call(), name).rejects.toMatchObject({ code: "UNAVAILABLE" });
      }
      expect((await fetch(`${node}/${indexName}`)).status).toBe(404);
    });

    test("tells how durable a save is: synced or not, and on several nodes only if the write waits for them", async () => {
      const durabilityOf = async (body: object, waitFor?: number): Promise<string> => {
        const indexName = freshName();
        await put(indexName, { ...opensearchIndex({ replicas: 1 }), ...body });
        const checkpointer = open({ hosts: node, indexName, ...(waitFor && { waitForActiveShards: waitFor }) });
        await checkpointer.connect();
        return checkpointer.capabilities.durability;
      };
      expect(await durabilityOf({})).toBe("fsync");
      expect(await durabilityOf({}, 2)).toBe("replicated");
      expect(await durabilityOf({ settings: { index: { translog: { durability: "async" } } } })).toBe("os");
    });
  });

  describe("namespaces", () => {
    test("share an index and see nothing of each other", async () => {
      const [one, other] = [open(place()), open(place())];
      await one.save(said("the red fox"), "t", { metadata: { team: 1 } });
      await other.save(said("the blue fox"), "t", { metadata: { team: 1 } });
      await one.delete("t");
      expect(await one.load("t")).toBeUndefined();
      expect(await one.search("fox")).toEqual([]);
      expect([...(await other.listThreads())]).toEqual(["t"]);
      expect(await other.search("fox")).toHaveLength(1);
      expect(await other.queryByMetadata("team", 1)).toHaveLength(1);
    });
  });

  describe("search", () => {
    test("ranks more occurrences in fewer words first, and a whole word above a longer one that begins with it", async () => {
      const checkpointer = open(place());
      await checkpointer.save(said("deploy"), "exact");
      await checkpointer.save(said("deployment"), "longer");
      await checkpointer.save(said(`deploy ${"and much else besides ".repeat(20)}`), "diluted");
      await checkpointer.save(said("deploy deploy deploy it"), "insistent");
      const hits = await checkpointer.search("deploy");
      const order = hits.map(({ threadId }) => threadId);
      expect(order).toHaveLength(4);
      expect(order.indexOf("exact")).toBeLessThan(order.indexOf("diluted"));
      expect(order.indexOf("insistent")).toBeLessThan(order.indexOf("diluted"));
      expect(order.at(-1)).toBe("longer");
      expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a));
    });

    test("finds a word of five hundred letters, and what was said a moment ago", async () => {
      const checkpointer = open(place());
      await checkpointer.save(said("x".repeat(500)), "t");
      expect(await checkpointer.search("x".repeat(500))).toHaveLength(1);
    });
  });

  test("a client that is handed in stays open", async () => {
    const { hosts: _, ...rest } = place();
    const checkpointer = opensearchCheckpointer({ ...rest, client });
    await checkpointer.save(said("hello"), "t");
    await checkpointer.close();
    await expect(checkpointer.load("t")).rejects.toMatchObject({ code: "CLOSED" });
    await open({ ...rest, client }).load("t");
  });

  test("a URL opens it", async () => {
    const there = index.namespace();
    await using checkpointer = await openCheckpointer(there);
    await checkpointer.save(said("hello"), "t");
    await using again = await openCheckpointer(there);
    expect((await again.load("t"))?.messages).toHaveLength(1);
  });
});
