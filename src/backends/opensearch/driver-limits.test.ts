import { afterAll, beforeEach, expect, test } from "vitest";
import { ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { recordAt, requestFor } from "../../testing/thread-log-cases/sample-records.ts";
import { opensearchLogOptions, optionsOfUrl } from "./checkpointer.ts";
import { OpenSearchLog } from "./log.ts";
import { storedWords } from "./words.ts";

test("the words of a record are limited, and so is each word", () => {
  expect(storedWords("x".repeat(8_000_000))).toBe("x".repeat(200));
  expect(storedWords(`short ${"\u{1f511}".repeat(4_000_000)} behind`)).toBe(`short ${"\u{1f511}".repeat(100)} behind`);
  const many = storedWords("abcdefg ".repeat(2_000_000).trim());
  expect(many?.length).toBeLessThanOrEqual(1024 * 1024);
  expect(new Set(many?.split(" "))).toEqual(new Set(["abcdefg"]));
});

await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  const logs: OpenSearchLog[] = [];
  let log: OpenSearchLog;
  beforeEach(() => {
    log = new OpenSearchLog(opensearchLogOptions(optionsOfUrl(index.namespace())));
    logs.push(log);
  });
  afterAll(async () => {
    for (const each of logs) await each.close();
    await index.remove();
  });

  test("8 MB of word characters, in one word or in many, are saved and found by what comes first", async () => {
    const enormous: Readonly<Record<string, string>> = {
      one: `alpha ${"x".repeat(8_000_000)}`,
      // An indexed term has at most 32,766 bytes; each of these characters has three.
      wide: `alpha ${"ﷺ".repeat(2_700_000)}`,
      many: `alpha ${Array.from({ length: 1_000_000 }, (_, at) => `w${at}`).join(" ")}`,
    };
    for (const [threadId, words] of Object.entries(enormous)) {
      for (const seq of [1, 2, 3]) {
        const outcome = await log.append(threadId, requestFor(recordAt(seq, { words })));
        expect(outcome, threadId).toEqual({ appended: true });
      }
    }
    const { hits } = await log.search(["alpha"], { limit: 100 });
    expect(new Set(hits.map(({ threadId }) => threadId))).toEqual(new Set(Object.keys(enormous)));
    expect((await log.search(["x".repeat(300)], { limit: 100 })).hits).toHaveLength(3);
  });

  test("a replacement at a position that holds no record is INVALID_ARGUMENT, and nothing is written", async () => {
    for (const seq of [1, 2, 3, 4, 5, 6]) await log.append("t", requestFor(recordAt(seq)));
    await log.append("t", requestFor(recordAt(7), { dropBelow: 3, drop: [5] }));
    await log.append("t", requestFor(recordAt(8)));
    const before = await log.readTail("t");
    for (const seq of [1, 2, 5]) {
      const request = requestFor(recordAt(9), { replace: [recordAt(seq), recordAt(6)] });
      await expect(log.append("t", request), `${seq}`).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining(`is ${seq}, and the thread has no record there`),
      });
    }
    expect(await log.readTail("t")).toEqual(before);
    expect(await log.append("t", requestFor(recordAt(9), { replace: [recordAt(6), recordAt(8)] }))).toEqual({
      appended: true,
    });
  });
});
