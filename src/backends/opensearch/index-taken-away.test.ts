import { Client } from "@opensearch-project/opensearch";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import type { OpenSearchClient } from "./connect.ts";
import { opensearchCheckpointer, opensearchIndex } from "./index.ts";

const said = (text: string): AgentState => AgentState.create({ messages: [userMessage(text)] });

await describeWithService("opensearch", (url) => {
  const node = httpUrl(url);
  const client = new Client({ node }) as unknown as OpenSearchClient;
  const base = ownIndex(url).name;
  const opened: Checkpointer[] = [];
  let indexName: string;
  let count = 0;
  beforeEach(() => {
    indexName = `${base}-${++count}`;
  });
  afterEach(async () => {
    for (const checkpointer of opened.splice(0)) await checkpointer.close();
    for (const name of [indexName, `${indexName}-1`]) await send("DELETE", name);
  });
  afterAll(() => client.close());

  const send = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${node}/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });

  function open(): Checkpointer {
    const checkpointer = opensearchCheckpointer({ hosts: node, indexName, replicas: 0, retry: { attempts: 1 } });
    opened.push(checkpointer);
    return checkpointer;
  }

  /** A thread in an index that is used by its own name, or through an alias. */
  async function saved(how: string): Promise<{ readonly checkpointer: Checkpointer; readonly state: AgentState }> {
    if (how === "an index") await send("PUT", indexName, opensearchIndex({ replicas: 0 }));
    const checkpointer = open();
    const state = said("hello");
    await checkpointer.save(state, "t", { checkpointId: "first" });
    return { checkpointer, state };
  }

  const calls = (checkpointer: Checkpointer, state: AgentState): Readonly<Record<string, () => Promise<unknown>>> => ({
    load: () => checkpointer.load("t"),
    exists: () => checkpointer.exists("t"),
    listCheckpoints: () => checkpointer.listCheckpoints("t"),
    listThreads: () => checkpointer.listThreads(),
    queryByMetadata: () => checkpointer.queryByMetadata("team", 1),
    search: () => checkpointer.search("hello"),
    save: () => checkpointer.save(state.withMessage(userMessage("again")), "t"),
    delete: () => checkpointer.delete("t"),
    copyThread: () => checkpointer.copyThread("t", "copy"),
  });

  describe.each(["an index", "an alias"])("%s that is deleted beneath", (how) => {
    test("is UNAVAILABLE for every call, and no write recreates it", async () => {
      const { checkpointer, state } = await saved(how);
      await send("DELETE", how === "an index" ? indexName : `${indexName}-1`);
      const all = { ...calls(checkpointer, state), create: () => checkpointer.save(said("new"), "u") };
      for (const [name, call] of Object.entries(all)) {
        await expect(call(), name).rejects.toMatchObject({ code: "UNAVAILABLE" });
      }
      expect((await send("GET", indexName)).status).toBe(404);
    });

    test.each(["empty", "with a document of another owner"])(
      "and made anew without its mapping, %s, is INCOMPATIBLE and never no thread",
      async (contents) => {
        const { checkpointer, state } = await saved(how);
        await send("DELETE", how === "an index" ? indexName : `${indexName}-1`);
        await send("PUT", indexName, { settings: { number_of_replicas: 0 } });
        if (contents !== "empty") await send("PUT", `${indexName}/_doc/1?refresh=true`, { thread: "t", listed: true });
        for (const [name, call] of Object.entries(calls(checkpointer, state))) {
          // A write requires the alias that it knows.
          const code = how === "an alias" && name === "save" ? "UNAVAILABLE" : "INCOMPATIBLE";
          await expect(call(), name).rejects.toMatchObject({ code });
        }
        await expect(checkpointer.load("t")).rejects.toThrow("it was deleted or replaced while it was used");
      },
    );
  });

  test("a write to an index without an alias leaves only its own documents behind", async () => {
    const { checkpointer, state } = await saved("an index");
    await checkpointer.save(state.withMessage(userMessage("again")), "t");
    await send("POST", `${indexName}/_refresh`);
    const { count: documents } = (await (await send("GET", `${indexName}/_count`)).json()) as { count: number };
    expect(documents).toBe(2);
  });
});
