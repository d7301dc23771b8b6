import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { optionsOfUrl } from "./checkpointer.ts";
import { opensearchCheckpointer } from "./index.ts";
import { threadName } from "./layout.ts";

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  let checkpointer: Checkpointer;
  let namespace: string;
  beforeEach(() => {
    const options = optionsOfUrl(index.namespace());
    namespace = options.namespace ?? "";
    checkpointer = opensearchCheckpointer({ ...options, retry: { attempts: 1 } });
  });
  afterEach(() => checkpointer.close());
  afterAll(index.remove);

  async function fill(): Promise<void> {
    for (const threadId of ["a", "damaged", "z"]) {
      let state = AgentState.create();
      for (const text of ["the fox", "the fox again", "the last fox"]) {
        state = state.withMessage(userMessage(text));
        await checkpointer.save(state, threadId, { metadata: { team: 1 } });
      }
    }
  }

  /** Changes the document of the middle thread, as if by another program. */
  async function change(fields: string): Promise<void> {
    const { key } = threadName(namespace, "damaged");
    const response = await fetch(`${httpUrl(url)}/${index.name}/_update/${key}?refresh=true`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ doc: JSON.parse(fields) as object }),
    });
    expect(response.status).toBe(200);
  }

  describe.each([
    ["without its log", '{"log":null}'],
    ["whose head is no entry", '{"log":{"headEntry":{"seq":"three"}}}'],
    ["whose metadata is no JSON", '{"log":{"headEntry":{"metadata":"{"}}}'],
    ["without its record", '{"record":null}'],
  ])("a thread %s", (_, fields) => {
    test("does not affect other threads in a list, a query or a search", async () => {
      await fill();
      await change(fields);
      const others = ["a", "z"];
      expect([...(await checkpointer.listThreads())]).toEqual(expect.arrayContaining(others));
      const queried = await checkpointer.queryByMetadata("team", 1);
      expect(queried.map(({ threadId }) => threadId)).toEqual(expect.arrayContaining(others));
      const hits = await checkpointer.search("fox");
      expect(hits.map(({ threadId }) => threadId)).toEqual(expect.arrayContaining(["a", "a", "a", "z", "z", "z"]));
      if (fields !== '{"record":null}') {
        expect((await checkpointer.listWithMetadata()).warnings).toMatchObject([
          { threadId: "damaged", code: "CORRUPT" },
        ]);
        expect((await checkpointer.queryByMetadata("team", 1)).warnings).toMatchObject([{ threadId: "damaged" }]);
      }
      for (const threadId of others) expect((await checkpointer.load(threadId))?.messages).toHaveLength(3);
    });
  });

  test("pages of a list lead past a damaged thread, which is listed by its name", async () => {
    await fill();
    await change('{"log":null}');
    const met: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await checkpointer.listThreads({ limit: 1, ...(cursor !== undefined && { cursor }) });
      met.push(...page);
      cursor = page.cursor;
    } while (cursor !== undefined && met.length < 10);
    expect(met).toEqual(["a", "damaged", "z"]);
  });

  test("a damaged thread is CORRUPT when loaded, and never 'no thread'", async () => {
    await fill();
    await change('{"log":null}');
    await expect(checkpointer.load("damaged")).rejects.toMatchObject({ code: "CORRUPT" });
  });
});
