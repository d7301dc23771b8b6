import { randomBytes } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { conversation, growThread } from "../../testing/checkpointer-cases/conversations.ts";
import { optionsOfUrl } from "./checkpointer.ts";
import type { OpenSearchClient, OpenSearchRequest } from "./connect.ts";
import { opensearchCheckpointer } from "./index.ts";

// Some cases make a thousand calls, and each write is synced.
await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);

  const ask = async (path: string, method = "GET", body?: object): Promise<Readonly<Record<string, unknown>>> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${httpUrl(url)}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };

  /** The test refreshes, because a reader does not. */
  const refresh = () => ask(`/${index.name}/_refresh`, "POST");

  interface Found {
    readonly _id: string;
    readonly _seq_no: number;
    readonly _primary_term: number;
    readonly _version: number;
    readonly _source: object;
  }

  /** Every document with its number and version, and the settings and mappings of every index with our name. */
  async function contents(): Promise<Record<string, string>> {
    await refresh();
    const query = { size: 10_000, seq_no_primary_term: true, version: true, query: { match_all: {} } };
    const answer = await ask(`/${index.name}/_search`, "POST", query);
    const { hits = [] } = (answer["hits"] ?? {}) as { hits?: readonly Found[] };
    const documents = hits.map(({ _id, _seq_no, _primary_term, _version, _source }) => [
      _id,
      JSON.stringify([_seq_no, _primary_term, _version, _source]),
    ]);
    const indexes = Object.entries(await ask("/_all")).filter(([name]) => name.startsWith(index.name));
    return { ...(Object.fromEntries(documents) as Record<string, string>), indexes: JSON.stringify(indexes) };
  }

  async function observed(): Promise<ObservedStore> {
    const where = optionsOfUrl(index.namespace());
    return { open: (options) => opensearchCheckpointer({ ...options, ...where }), contents };
  }

  async function nothing(): Promise<ObservedStore> {
    const indexName = `test-${randomBytes(6).toString("hex")}`;
    const where = { ...optionsOfUrl(index.namespace()), indexName };
    return {
      open: (options) => opensearchCheckpointer({ ...options, ...where }),
      contents: async () => ({
        indexes: Object.keys(await ask("/_all"))
          .filter((name) => name.startsWith(indexName))
          .join(),
      }),
    };
  }

  testReadAccess({ name: "OpenSearch", create: observed, missing: nothing });

  test("with read access OpenSearch is asked for nothing but documents and searches", async () => {
    const where = optionsOfUrl(index.namespace());
    const writer = opensearchCheckpointer(where);
    const filled = await fillStore(writer);
    await writer.close();
    const { Client } = await import("@opensearch-project/opensearch");
    const client = new Client({ node: httpUrl(url) }) as unknown as OpenSearchClient;
    const asked: string[] = [];
    const watched: OpenSearchClient = {
      transport: {
        request: (request: OpenSearchRequest, options: object) => {
          asked.push(`${request.method} ${request.path.split("/").slice(2, 3).join()}`.trim());
          return client.transport.request(request, options);
        },
      },
      close: () => client.close(),
    };
    const { hosts: _, ...rest } = where;
    const reader = opensearchCheckpointer({ ...rest, client: watched, access: "read" });
    await refresh();
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    await reader.close();
    await client.close();
    expect([...new Set(asked)].sort()).toEqual(["GET", "GET _doc", "POST _mget", "POST _search"]);
  });

  test("a checkpoint that no search shows yet is found with read access", async () => {
    const where = optionsOfUrl(index.namespace());
    const writer = opensearchCheckpointer(where);
    await writer.save(conversation(1), "other");
    await ask(`/${index.name}-1/_settings`, "PUT", { index: { refresh_interval: "-1" } });
    try {
      await refresh();
      const { ids } = await growThread(writer, "t", 20);
      const reader = opensearchCheckpointer({ ...where, access: "read" });
      for (const [position, checkpointId] of ids.entries()) {
        expect((await reader.load("t", checkpointId))?.messages.length).toBe(position + 1);
      }
      expect(await reader.exists("t", "not there")).toBe(false);
      await reader.close();
    } finally {
      await ask(`/${index.name}-1/_settings`, "PUT", { index: { refresh_interval: null } });
    }
    await writer.close();
  });

  test("an index that is not holdfast's is INCOMPATIBLE with read access too", async () => {
    const indexName = `test-${randomBytes(6).toString("hex")}`;
    await ask(`/${indexName}`, "PUT", {});
    const reader = opensearchCheckpointer({ ...optionsOfUrl(index.namespace()), indexName, access: "read" });
    expect((await failureOf(() => reader.connect())).code).toBe("INCOMPATIBLE");
    await reader.close();
    await ask(`/${indexName}`, "DELETE");
  });
});
