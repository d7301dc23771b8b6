import { Client } from "@opensearch-project/opensearch";
import { afterAll, describe, expect, test } from "vitest";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import type { LogRecord, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { placeAt } from "../../testing/thread-log-cases/sample-records.ts";
import { opensearchLogOptions, optionsOfUrl } from "./checkpointer.ts";
import type { OpenSearchClient } from "./connect.ts";
import { OpenSearchLog } from "./log.ts";

const recordAt = (seq: number, fields: Partial<LogRecord> = {}): LogRecord => ({
  seq,
  writeId: `write-${seq}`,
  base: 1,
  head: seq,
  checkpointId: `checkpoint-${seq}`,
  header: `header ${seq}`,
  metadata: undefined,
  body: Buffer.from(`body ${seq}`),
  words: undefined,
  ...fields,
});

async function grow(log: ThreadLog, threadId: string, count: number, generation: string): Promise<void> {
  for (let seq = 1; seq <= count; seq++) {
    const { appended } = await log.append(threadId, { expected: placeAt(seq - 1, generation), record: recordAt(seq) });
    expect(appended).toBe(true);
  }
}

/** Everything that readers can see of a thread. */
async function seen(log: ThreadLog, threadId: string): Promise<unknown> {
  const chain = await log.readTail(threadId);
  const records = chain?.records.map(({ header, body }) => `${header}: ${Buffer.from(body).toString()}`);
  const listed = (await log.list(threadId, { limit: 99 })).map(({ header }) => header);
  const [thread] = (await log.listThreads({ prefix: threadId, limit: 9 })).items.filter(isReadable);
  return { generation: chain?.generation, records, listed, head: thread?.head.header };
}

type Moment = "before" | "after";

/** A process that dies at its n-th request: before the server sees it, or before the answer comes back. */
function dyingClient(client: OpenSearchClient, fatal: number, moment: Moment): OpenSearchClient & { sent: number } {
  const dying = {
    sent: 0,
    transport: {
      request: async (...call: Parameters<OpenSearchClient["transport"]["request"]>) => {
        const dies = ++dying.sent >= fatal;
        if (dies && (moment === "before" || dying.sent > fatal)) throw new Error("died");
        const answer = await client.transport.request(...call);
        if (dies) throw new Error("died");
        return answer;
      },
    },
    close: async () => undefined,
  };
  return dying;
}

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  const client = new Client({ node: httpUrl(url) }) as unknown as OpenSearchClient;
  afterAll(async () => {
    await index.remove();
    await client.close();
  });

  const open = (namespace: string, using = client): OpenSearchLog => {
    const { hosts: _, ...rest } = optionsOfUrl(namespace);
    return new OpenSearchLog(opensearchLogOptions({ ...rest, client: using }));
  };

  /** Lets `act` die at its first request, its second, and so on, until it succeeds. */
  async function atEveryRequest(
    moment: Moment,
    act: (log: ThreadLog) => Promise<unknown>,
    story: {
      readonly before: (log: ThreadLog) => Promise<void>;
      readonly after: (log: ThreadLog, died: boolean) => Promise<void>;
    },
  ): Promise<number> {
    for (let fatal = 1; ; fatal++) {
      const namespace = index.namespace();
      await story.before(open(namespace));
      const dying = dyingClient(client, Number.POSITIVE_INFINITY, moment);
      const log = open(namespace, dying);
      await log.connect();
      const mortal = dyingClient(client, fatal, moment);
      Object.assign(dying.transport, mortal.transport);
      const died = await act(log).then(
        () => false,
        () => true,
      );
      const isOver = mortal.sent < fatal;
      await story.after(open(namespace), died);
      expect(await index.documents(), `nothing is left of request ${fatal}`).toBe(0);
      if (isOver) return fatal - 1;
    }
  }

  describe.each(["before", "after"] as const)("a process that dies %s a request takes effect", (moment) => {
    test("has appended with all its edits, or nothing of it", async () => {
      const replacement = recordAt(3, { base: 3, header: "anew", body: Buffer.from("anew") });
      const request = {
        expected: placeAt(6),
        record: recordAt(7, { base: 3 }),
        replace: [replacement],
        drop: [5],
        dropBelow: 3,
      };
      let untouched: unknown;
      let edited: unknown;
      const deaths = await atEveryRequest(moment, (log) => log.append("t", request), {
        before: async (log) => {
          await grow(log, "t", 6, "first");
          untouched ??= await seen(log, "t");
          if (edited !== undefined) return;
          await log.append("t", request);
          edited = await seen(log, "t");
          await log.remove("t");
          await grow(log, "t", 6, "first");
        },
        after: async (log, died) => {
          const now = await seen(log, "t");
          expect(died ? [untouched, edited] : [edited]).toContainEqual(now);
          const again = await log.append("t", request);
          expect(again.appended || again.occupant?.writeId === "write-7").toBe(true);
          expect(await seen(log, "t")).toEqual(edited);
          const next = { expected: placeAt(7), record: recordAt(8, { base: 3 }) };
          expect((await log.append("t", next)).appended).toBe(true);
          expect((await log.readTail("t"))?.records.map(({ seq }) => seq)).toEqual([3, 4, 6, 7, 8]);
          expect(await log.remove("t")).toBe("removed");
        },
      });
      expect(deaths).toBeGreaterThanOrEqual(2);
    });

    test("has removed the thread, or left it intact", async () => {
      const deaths = await atEveryRequest(moment, (log) => log.remove("t"), {
        before: (log) => grow(log, "t", 5, "first"),
        after: async (log) => {
          expect([undefined, 5]).toContain((await log.readTail("t"))?.records.length);
          await log.remove("t");
          expect(await log.readTail("t")).toBeUndefined();
        },
      });
      expect(deaths).toBeGreaterThanOrEqual(4);
    });

    test("has copied the thread or created none, and what it left is cleaned up", async () => {
      const deaths = await atEveryRequest(moment, (log) => log.copy("t", "u", "second"), {
        before: (log) => grow(log, "t", 5, "first"),
        after: async (log) => {
          expect([undefined, 5]).toContain((await log.readTail("u"))?.records.length);
          expect((await log.readTail("t"))?.records).toHaveLength(5);
          await log.remove("u");
          await grow(log, "u", 2, "third");
          expect((await log.list("u", { limit: 9 })).map(({ seq }) => seq)).toEqual([2, 1]);
          await log.remove("u");
          await log.remove("t");
        },
      });
      expect(deaths).toBeGreaterThanOrEqual(5);
    });
  });

  test("an interrupted removal is finished by the next process that connects", async () => {
    const namespace = index.namespace();
    await grow(open(namespace), "t", 5, "first");
    const mortal = dyingClient(client, 5, "before");
    // Two requests to connect, one to find the thread, one to commit: the fifth would delete.
    await expect(open(namespace, mortal).remove("t")).rejects.toThrow("died");
    expect(await index.documents()).toBeGreaterThan(1);
    await open(namespace).connect();
    expect(await index.documents()).toBe(0);
  });

  test("an append that arrives after the thread was removed leaves nothing behind", async () => {
    const namespace = index.namespace();
    const late = open(namespace);
    await grow(late, "t", 3, "first");
    await open(namespace).remove("t");
    const outcome = await late.append("t", { expected: placeAt(3), record: recordAt(4) });
    expect(outcome).toEqual({ appended: false, tail: undefined, generation: undefined, occupant: undefined });
    expect(await index.documents()).toBe(0);
  });

  test("a write that arrives late never replaces a newer one", async () => {
    const namespace = index.namespace();
    const [writer, late] = [open(namespace), open(namespace)];
    await grow(writer, "t", 3, "first");
    await late.readTail("t");
    const replaced = recordAt(3, { header: "anew" });
    await writer.append("t", { expected: placeAt(3), record: recordAt(4), replace: [replaced] });
    await writer.append("t", { expected: placeAt(4), record: recordAt(5), drop: [4] });
    // It still takes record 3 for the newest, and would move it into its own document.
    const refused = await late.append("t", { expected: placeAt(3), record: recordAt(4) });
    expect(refused).toMatchObject({ appended: false, tail: { seq: 5 }, occupant: undefined });
    const headers = (await writer.readTail("t"))?.records.map(({ header }) => header);
    expect(headers).toEqual(["header 1", "header 2", "anew", "header 5"]);
    await writer.remove("t");
  });

  test("a write that arrives late brings no dropped record back", async () => {
    const namespace = index.namespace();
    const [writer, late] = [open(namespace), open(namespace)];
    await grow(writer, "t", 3, "first");
    await late.readTail("t");
    await writer.append("t", { expected: placeAt(3), record: recordAt(4, { head: 4 }), drop: [3] });
    expect((await late.append("t", { expected: placeAt(3), record: recordAt(4) })).appended).toBe(false);
    await writer.append("t", { expected: placeAt(4), record: recordAt(5) });
    expect((await writer.readTail("t"))?.records.map(({ seq }) => seq)).toEqual([1, 2, 4, 5]);
    expect((await writer.list("t", { limit: 9 })).map(({ seq }) => seq)).toEqual([5, 4, 2, 1]);
    await writer.remove("t");
    expect(await index.documents()).toBe(0);
  });

  test("an append whose older record the server refuses restores the head, and nothing is lost", async () => {
    const namespace = index.namespace();
    await grow(open(namespace), "t", 3, "first");
    let isRefused = true;
    const request: OpenSearchClient["transport"]["request"] = (what, options) => {
      const lines = what.bulkBody?.split("\n") ?? [];
      // The mapping is strict: with one more field, the server refuses this item alone.
      if (lines.length === 5 && isRefused) lines[1] = lines[1]!.replace("{", '{"strange":1,');
      return client.transport.request({ ...what, ...(lines.length > 0 && { bulkBody: lines.join("\n") }) }, options);
    };
    const log = open(namespace, { transport: { request }, close: async () => undefined });
    const append = { expected: placeAt(3), record: recordAt(4) };
    await expect(log.append("t", append)).rejects.toThrow("strict_dynamic_mapping_exception");
    expect((await log.readTail("t"))?.records.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    isRefused = false;
    expect((await log.append("t", append)).appended).toBe(true);
    expect((await log.readTail("t"))?.records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    await log.remove("t");
  });

  test("a thread of 2,500 checkpoints is deleted to the last document", async () => {
    const log = open(index.namespace());
    await grow(log, "org", 2500, "first");
    await grow(log, "org/alice", 2, "first");
    expect(await index.documents()).toBe(2502);
    expect(await log.remove("org")).toBe("removed");
    expect(await index.documents()).toBe(2);
    expect((await log.readTail("org/alice"))?.records).toHaveLength(2);
    await log.remove("org/alice");
    expect(await index.documents()).toBe(0);
  });
});
