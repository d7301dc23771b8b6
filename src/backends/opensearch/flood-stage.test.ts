import { Client } from "@opensearch-project/opensearch";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { optionsOfUrl } from "./checkpointer.ts";
import { ServerFailure } from "./classify.ts";
import type { OpenSearchClient } from "./connect.ts";
import { type OpensearchCheckpointerOptions, opensearchCheckpointer } from "./index.ts";

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  const settings = `${httpUrl(url)}/${index.name}/_settings`;
  let options: OpensearchCheckpointerOptions;
  let checkpointer: Checkpointer;
  beforeEach(() => {
    options = optionsOfUrl(index.namespace());
    checkpointer = opensearchCheckpointer({ ...options, retry: { attempts: 1 } });
  });
  afterEach(async () => {
    await block(false);
    await checkpointer.close();
  });
  afterAll(index.remove);

  /** What the server does to an index on a full disk. */
  const block = async (isBlocked: boolean): Promise<void> => {
    const body = JSON.stringify({ "index.blocks.read_only_allow_delete": isBlocked ? true : null });
    await fetch(settings, { method: "PUT", headers: { "content-type": "application/json" }, body });
  };
  const isBlocked = async (): Promise<boolean> => (await (await fetch(settings)).text()).includes("read_only_allow");

  async function thread(threadId: string, length: number): Promise<AgentState> {
    let state = AgentState.create();
    for (let at = 1; at <= length; at++) {
      state = state.withMessage(userMessage(`said ${at}`));
      await checkpointer.save(state, threadId, { checkpointId: `c${at}` });
    }
    return state;
  }
  const idsOf = async (threadId: string): Promise<string[]> =>
    (await checkpointer.listCheckpoints(threadId)).map(({ checkpointId }) => checkpointId);

  test("at flood stage a thread can be deleted, and the block is there again afterwards", async () => {
    await thread("t", 3);
    await thread("kept", 1);
    await block(true);
    await checkpointer.delete("t");
    expect(await checkpointer.load("t")).toBeUndefined();
    expect([...(await checkpointer.listThreads())]).toEqual(["kept"]);
    expect(await isBlocked()).toBe(true);
    expect(await index.documents()).toBe(1);
  });

  test("at flood stage a checkpoint can be deleted, and old ones vacuumed", async () => {
    const state = await thread("t", 5);
    await block(true);
    await checkpointer.delete("t", { checkpointId: "c5" });
    await checkpointer.delete("t", { checkpointId: "c3" });
    expect(await idsOf("t")).toEqual(["c4", "c2", "c1"]);
    await checkpointer.vacuum({ keepLast: 1 });
    expect(await idsOf("t")).toEqual(["c4"]);
    expect((await checkpointer.load("t"))?.messages).toHaveLength(state.messages.length - 1);
    expect(await isBlocked()).toBe(true);
  });

  test("at flood stage many deletions at once get through", async () => {
    const ids = Array.from({ length: 10 }, (_, at) => `t${at}`);
    for (const id of ids) await thread(id, 2);
    await block(true);
    await Promise.all(ids.map((id) => checkpointer.delete(id)));
    expect([...(await checkpointer.listThreads())]).toEqual([]);
    expect(await isBlocked()).toBe(true);
  });

  test("at flood stage whatever brings something in is STORAGE_FULL, and the block stays", async () => {
    const state = await thread("t", 2);
    // The next lease removes the mark of this one, which is not a deletion.
    await checkpointer.withLease("t", async () => undefined);
    await block(true);
    const writes: Readonly<Record<string, () => Promise<unknown>>> = {
      "a save": () => checkpointer.save(state.withMessage(userMessage("more")), "t"),
      "a new thread": () => checkpointer.save(AgentState.create({ messages: [userMessage("new")] }), "u"),
      "a lease": () => checkpointer.withLease("t", async () => undefined),
      "a copy": () => checkpointer.copyThread("t", "copy"),
    };
    for (const [what, write] of Object.entries(writes)) {
      await expect(write(), what).rejects.toMatchObject({ code: "STORAGE_FULL" });
      expect(await isBlocked(), what).toBe(true);
    }
    expect((await checkpointer.load("t"))?.messages).toHaveLength(2);
  });

  test("if the block may not be lifted, a deletion is STORAGE_FULL after a few attempts", async () => {
    await thread("t", 1);
    await block(true);
    const real = new Client({ node: httpUrl(url) }) as unknown as OpenSearchClient;
    let attempts = 0;
    const client: OpenSearchClient = {
      transport: {
        request: (what, options) => {
          if (!what.path.endsWith("/_settings")) return real.transport.request(what, options);
          attempts++;
          return Promise.reject(new ServerFailure(403, { type: "security_exception", reason: "no permissions" }));
        },
      },
      close: () => real.close(),
    };
    const { hosts: _, ...place } = options;
    const restricted = opensearchCheckpointer({ ...place, client, retry: { attempts: 1 } });
    await expect(restricted.delete("t")).rejects.toMatchObject({ code: "STORAGE_FULL" });
    expect(attempts).toBeLessThan(10);
    expect(await checkpointer.exists("t")).toBe(true);
    await client.close();
  });
});
