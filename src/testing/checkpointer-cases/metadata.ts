import assert from "node:assert/strict";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { failsWith } from "../expect-failure.ts";
import { HOSTILE_KEYS, LOOKALIKE_VALUES } from "../hostile-metadata.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, assertNoThread, conversation, growThread, loaded } from "./conversations.ts";

/** Every page, sorted. */
async function query(subject: BaseCheckpointer, key: string, value: unknown, limit = 50): Promise<readonly string[]> {
  const threads: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await subject.queryByMetadata(key, value, { limit, ...(cursor !== undefined && { cursor }) });
    threads.push(...page.map(({ threadId }) => threadId));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return threads.sort();
}

/** An object literal would take "__proto__" for something else. */
const keyed = (key: string, value: unknown): Record<string, unknown> => Object.fromEntries([[key, value]]);

export const metadataCases: readonly CheckpointerCase[] = checkpointerCasesOf("metadata", [
  {
    name: "the metadata of a checkpoint comes back as it was given",
    needs: ["listWithMetadata", "history"],
    run: async ({ subject }) => {
      const metadata = {
        label: "a",
        n: -0,
        when: new Date(5),
        list: [1n, undefined],
        $: "mine",
        nested: { $: "date" },
      };
      const first = await subject.save(conversation(1), "t", { metadata });
      const second = await subject.save(and(await loaded(subject, "t"), "message 2"), "t");
      assertSame(await subject.getMetadata("t", { checkpointId: first }), metadata, "metadata");
      assertSame(await subject.getMetadata("t", { checkpointId: second }), {}, "metadata that was not given");
      assertSame(await subject.getMetadata("t"), {}, "the newest checkpoint's");
    },
  },
  {
    name: "the metadata of what is not there is undefined",
    needs: ["listWithMetadata"],
    run: async ({ subject }) => {
      assert.equal(await subject.getMetadata("absent"), undefined);
      await subject.save(conversation(1), "t");
      assert.equal(await subject.getMetadata("t", { checkpointId: "absent" }), undefined);
    },
  },
  {
    name: "what was given as metadata can be changed by the caller afterwards without effect",
    needs: ["listWithMetadata"],
    run: async ({ subject }) => {
      const metadata = { list: [1] };
      await subject.save(conversation(1), "t", { metadata });
      metadata.list.push(2);
      assertSame(await subject.getMetadata("t"), { list: [1] }, "metadata");
    },
  },
  {
    name: "metadata that is no plain object is INVALID_ARGUMENT, and nothing is written",
    run: async ({ subject }) => {
      for (const wrong of [null, "text", 1, true, [], [1], new Map([["a", 1]]), new Date(0), new Uint8Array(1)]) {
        const metadata = wrong as unknown as Record<string, unknown>;
        await failsWith(
          "INVALID_ARGUMENT",
          () => subject.save(conversation(1), "t", { metadata }),
          `metadata ${wrong}`,
        );
      }
      await assertNoThread(subject, "t");
    },
  },
  {
    name: "a value is found by its type as well as its text",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      for (const [index, value] of LOOKALIKE_VALUES.entries()) {
        await subject.save(conversation(1), `thread ${index}`, { metadata: { key: value } });
      }
      await subject.save(conversation(1), "without");
      for (const [index, value] of LOOKALIKE_VALUES.entries()) {
        assert.deepEqual(await query(subject, "key", value), [`thread ${index}`], JSON.stringify(value));
      }
    },
  },
  {
    name: "values that JSON lacks are found",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      const values = [new Date(0), 9n, undefined, -0, Number.NaN, { $: "date", v: "1970-01-01T00:00:00.000Z" }];
      for (const [index, value] of values.entries()) {
        await subject.save(conversation(1), `thread ${index}`, { metadata: { key: value } });
      }
      for (const [index, value] of values.entries()) {
        assert.deepEqual(await query(subject, "key", value), [`thread ${index}`], `value ${index}`);
      }
    },
  },
  {
    name: "every key is taken literally",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      for (const [index, key] of HOSTILE_KEYS.entries()) {
        await subject.save(conversation(1), `thread ${index}`, { metadata: keyed(key, 1) });
      }
      for (const [index, key] of HOSTILE_KEYS.entries()) {
        assert.deepEqual(await query(subject, key, 1), [`thread ${index}`], JSON.stringify(key));
      }
      for (const key of ["hasOwnProperty", "toString", "absent"]) assert.deepEqual(await query(subject, key, 1), []);
    },
  },
  {
    name: "metadata that uses the key $ still has its other keys",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t", { metadata: { $: "object", v: 1, other: 2 } });
      assert.deepEqual(await query(subject, "other", 2), ["t"]);
      assert.deepEqual(await query(subject, "v", 1), ["t"]);
      assert.deepEqual(await query(subject, "$", "object"), ["t"]);
    },
  },
  {
    name: "a query looks at the newest checkpoint of each thread",
    needs: ["metadataQuery", "history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 2, (index) => ({ metadata: { stage: index } }));
      assert.deepEqual(await query(subject, "stage", 1), []);
      const [found] = await subject.queryByMetadata("stage", 2);
      assert.equal(found?.checkpointId, ids[1]);
      await subject.delete("t", { checkpointId: ids[1] as string });
      assert.deepEqual(await query(subject, "stage", 1), ["t"]);
      assert.deepEqual(await query(subject, "stage", 2), []);
    },
  },
  {
    name: "every match is met once, whatever the size of a page",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      const ids = Array.from({ length: 11 }, (_, index) => `match ${index}`).sort();
      for (const threadId of ids) await subject.save(conversation(1), threadId, { metadata: { a: 1 } });
      for (let index = 0; index < 9; index++)
        await subject.save(conversation(1), `other ${index}`, { metadata: { a: 2 } });
      for (const limit of [1, 2, 11, 50])
        assert.deepEqual(await query(subject, "a", 1, limit), ids, `pages of ${limit}`);
    },
  },
  {
    name: "a query within a prefix finds only threads whose ids begin with it",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      for (const threadId of ["acme/1", "acme/2", "acme", "acme_1"]) {
        await subject.save(conversation(1), threadId, { metadata: { a: 1 } });
      }
      const found = await subject.queryByMetadata("a", 1, { threadPrefix: "acme/" });
      assert.deepEqual(found.map(({ threadId }) => threadId).sort(), ["acme/1", "acme/2"]);
    },
  },
]);
