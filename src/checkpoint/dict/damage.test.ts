import { beforeAll, describe, expect, test } from "vitest";
import { MapStorage } from "../../../test/dict-storages.ts";
import { grow } from "../../../test/dict-thread-operations.ts";
import { StateError } from "../../errors.ts";
import { StorageBackendAdapter } from "./adapter.ts";
import { DictLayout } from "./layout.ts";
import { dataOf, objectOf } from "./stored-value.ts";

const layout = new DictLayout();
const threadKey = (threadId: string): string => layout.document(layout.nameOf(threadId));

const prepared = new Map<string, string>();
let keys: readonly string[] = [];

beforeAll(async () => {
  const adapter = new StorageBackendAdapter(new MapStorage(prepared));
  await grow(adapter, "t", 19);
  keys = [...prepared.keys()];
  await grow(adapter, "other", 19);
});

/** Reads all there is of a thread. */
async function readAll(cells: Map<string, string>, threadId: string): Promise<string> {
  const adapter = new StorageBackendAdapter(new MapStorage(cells), { retry: { attempts: 1 } });
  const all: unknown[] = [];
  for await (const summary of adapter.history(threadId)) {
    all.push(summary, (await adapter.load(threadId, summary))?.toCheckpoint());
  }
  return JSON.stringify(all);
}

function changed(key: string, text: string | undefined): Map<string, string> {
  const cells = new Map(prepared);
  if (text === undefined) cells.delete(key);
  else cells.set(key, text);
  return cells;
}

async function failureOf(cells: Map<string, string>): Promise<StateError> {
  const failure = await readAll(cells, "t").then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!StateError.is(failure)) throw new Error(`expected a StateError, got ${String(failure)}`);
  return failure;
}

describe("damaged data is named, and the other threads still work", () => {
  test("a thread has a document, a page and bodies", () => {
    const kinds = keys.map((key) => /-(thread|page|body)\b/.exec(key)?.[1]);
    expect([...new Set(kinds)].sort()).toEqual(["body", "page", "thread"]);
  });

  test("a page or body that is missing is CORRUPT and not a shorter history", async () => {
    for (const key of keys.filter((key) => key !== threadKey("t"))) {
      const cells = changed(key, undefined);
      expect(await failureOf(cells)).toMatchObject({ code: "CORRUPT", context: { location: key } });
      expect(await readAll(cells, "other")).toBe(await readAll(prepared, "other"));
    }
  });

  test("null says as well that something is missing", async () => {
    const body = keys.find((key) => key.endsWith("-body"))!;
    const storage = new MapStorage(changed(body, undefined));
    const load = storage.load.bind(storage);
    const adapter = new StorageBackendAdapter({
      save: (key, data) => storage.save(key, data),
      load: async (key) => (await load(key)) ?? null,
      delete: (key) => storage.delete(key),
    });
    await expect(adapter.load("t", { checkpointId: "c2" })).rejects.toThrow(`${JSON.stringify(body)} is missing`);
    expect(await adapter.load("absent")).toBeUndefined();
  });

  test("something else under a key of ours is CORRUPT", async () => {
    for (const foreign of ["{}", '"text"', "[]", "1", "false", '{"format":"1"}', '{"format":1,"content":{}}']) {
      for (const key of keys) {
        const failure = await failureOf(changed(key, foreign));
        expect(failure, foreign).toMatchObject({ code: "CORRUPT", context: { location: key } });
        expect(failure.message).toContain(key);
      }
    }
  });

  test("what belongs under another key is CORRUPT", async () => {
    const [first, second] = keys.filter((key) => key.endsWith("-body"));
    const failure = await failureOf(changed(first!, prepared.get(second!)));
    expect(failure).toMatchObject({ code: "CORRUPT", context: { location: first } });
    expect(failure.message).toContain(second!);
  });

  test("a document that holds another thread's id is CORRUPT", async () => {
    const [own, other] = [threadKey("t"), threadKey("other")];
    const { bytes } = objectOf(other, JSON.parse(prepared.get(other)!) as object)!;
    const failure = await failureOf(changed(own, JSON.stringify(dataOf(own, bytes))));
    expect(failure).toMatchObject({ code: "CORRUPT" });
    expect(failure.message).toContain('holds the thread "other"');
  });

  test("data of a newer format is INCOMPATIBLE", async () => {
    for (const key of keys) {
      const data = JSON.parse(prepared.get(key)!) as object;
      const failure = await failureOf(changed(key, JSON.stringify({ ...data, format: 2 })));
      expect(failure).toMatchObject({ code: "INCOMPATIBLE", context: { location: key } });
    }
  });

  test("fields that a storage adds on its own do not matter", async () => {
    const cells = new Map(prepared);
    for (const [key, text] of cells) cells.set(key, JSON.stringify({ _id: key, ...JSON.parse(text), updatedAt: 1 }));
    expect(await readAll(cells, "t")).toBe(await readAll(prepared, "t"));
  });

  test("a changed character anywhere is an error and never another answer", async () => {
    const whole = await readAll(prepared, "t");
    for (const key of [
      keys[0]!,
      keys.find((key) => key.endsWith("-page"))!,
      keys.find((key) => key.endsWith("-body"))!,
    ]) {
      const text = prepared.get(key)!;
      const step = Math.max(1, Math.floor(text.length / 80));
      for (let at = 0; at < text.length; at += step) {
        const flipped = text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1);
        const answer = await readAll(changed(key, flipped), "t").catch(() => "an error");
        expect([whole, "an error"], `character ${at} of ${key}`).toContain(answer);
      }
    }
  });
});
