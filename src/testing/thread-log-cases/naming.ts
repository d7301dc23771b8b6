import assert from "node:assert/strict";
import { MOST_NAMES } from "../../checkpoint/log/driver-rules.ts";
import { isReadable } from "../../checkpoint/log/listed-threads.ts";
import { failsWith } from "../expect-failure.ts";
import {
  assertEntries,
  assertEntry,
  assertRecords,
  assertThread,
  grow,
  markAt,
  present,
  put,
  recordAt,
  requestFor,
  threadsOf,
} from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

export const namingCases: readonly ThreadLogCase[] = threadLogCasesOf("names", [
  {
    name: "a record is found by each of its names, and they are handed out as they were given",
    run: async ({ subject }) => {
      const names = ["latest/é", "a:b", "A:b", "__proto__"];
      const named = await put(subject, "t", recordAt(1, { names }));
      const later = await put(subject, "t", recordAt(2));
      for (const name of ["checkpoint-1", ...names]) {
        assertEntry(await subject.entry("t", name), named, `the entry named ${name}`);
        const chain = present(await subject.readCheckpoint("t", name), `the record named ${name}`);
        assertRecords(chain.records, [named], `the records up to ${name}`);
        assertEntry(chain.tail, later, "the tail");
      }
      assertEntries(await subject.list("t", { limit: 9 }), [later, named], "the list");
      await assertThread(subject, "t", [named, later], "the thread");
      assert.equal(await subject.entry("t", "a:B"), undefined);
    },
  },
  {
    name: "of several records with one name the newest is found, whether it is a first name or a further one",
    run: async ({ subject }) => {
      const names = ["n"];
      await put(subject, "t", recordAt(1, { checkpointId: "n" }));
      await put(subject, "t", recordAt(2, { names }));
      assert.equal((await subject.entry("t", "n"))?.seq, 2, "a further name is newer");
      await put(subject, "t", recordAt(3, { checkpointId: "n", base: 2 }));
      assert.equal((await subject.entry("t", "n"))?.seq, 3, "a first name is newer");
      const chain = present(await subject.readCheckpoint("t", "n"), "the newest of the name");
      assert.deepEqual(
        chain.records.map(({ seq }) => seq),
        [2, 3],
      );
      await put(subject, "t", recordAt(4));
      assert.equal((await subject.entry("t", "n"))?.seq, 3, "a record of another name changes nothing");
      const listed = (await subject.list("t", { limit: 9 })).map(({ seq }) => seq);
      assert.deepEqual(listed, [4, 3, 2, 1], "the list has every record, also where a name is there twice");
    },
  },
  {
    name: "a record may have further names and no checkpoint id: it is found and not listed",
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1));
      const mark = await put(subject, "t", markAt(2, { names: ["writes", "latest"] }));
      assertEntry(await subject.entry("t", "writes"), mark, "the entry");
      assertEntries(await subject.list("t", { limit: 9 }), [recordAt(1)], "the list");
    },
  },
  {
    name: "when the newest record of a name is dropped, the one before has it again",
    run: async ({ subject }) => {
      const names = ["n"];
      await put(subject, "t", recordAt(1, { names }));
      await put(subject, "t", recordAt(2, { names }));
      await put(subject, "t", recordAt(3, { checkpointId: "n" }));
      await put(subject, "t", recordAt(4), { drop: [3] });
      assert.equal((await subject.entry("t", "n"))?.seq, 2, "a first name was dropped");
      await put(subject, "t", recordAt(5), { drop: [2] });
      assert.equal((await subject.entry("t", "n"))?.seq, 1, "a further name was dropped");
      await put(subject, "t", recordAt(6, { base: 6 }), { dropBelow: 4 });
      assert.equal(await subject.entry("t", "n"), undefined, "all that had it were dropped");
    },
  },
  {
    name: "a replaced record has its new names and not the old ones",
    run: async ({ subject }) => {
      await put(subject, "t", recordAt(1, { names: ["old", "kept"] }));
      await put(subject, "t", recordAt(2, { names: ["other"] }));
      const anew = recordAt(1, { names: ["kept", "new"], header: "anew" });
      await put(subject, "t", recordAt(3), { replace: [anew, recordAt(2)] });
      assert.equal(await subject.entry("t", "old"), undefined);
      assert.equal(await subject.entry("t", "other"), undefined);
      for (const name of ["kept", "new"]) assertEntry(await subject.entry("t", name), anew, `the entry named ${name}`);
    },
  },
  {
    name: "names belong to their thread, go with it and come with its copy",
    run: async ({ subject }) => {
      const named = await put(subject, "t", recordAt(1, { names: ["n"] }));
      await put(subject, "u", recordAt(1));
      assert.equal(await subject.entry("u", "n"), undefined);
      assert.equal(await subject.copy("t", "copy", "second"), "copied");
      assertEntry(await subject.entry("copy", "n"), named, "the copy's entry");
      assert.equal(await subject.remove("t"), "removed");
      assert.equal(await subject.entry("t", "n"), undefined);
      await put(subject, "t", recordAt(1), { generation: "third" });
      assert.equal(await subject.entry("t", "n"), undefined, "a new thread has nothing of the old one");
      assertEntry(await subject.entry("copy", "n"), named, "the copy's entry, after all that");
    },
  },
  {
    name: "a name that ends with a position finds the newest record that has it, wherever that lies",
    run: async ({ subject }) => {
      const expectAt = async (name: string, seq: number | undefined): Promise<void> => {
        assert.equal((await subject.entry("t", name))?.seq, seq, `the entry named ${name}`);
        assert.equal((await subject.readCheckpoint("t", name))?.records.at(-1)?.seq, seq, `the record named ${name}`);
      };
      await put(subject, "t", recordAt(1, { checkpointId: "early-2" }));
      await put(subject, "t", recordAt(2, { checkpointId: "own-2", names: ["further-2", "next-3"] }));
      await put(subject, "t", recordAt(3, { checkpointId: "twice-5" }));
      await put(subject, "t", markAt(4));
      await put(subject, "t", recordAt(5, { checkpointId: "twice-5" }));
      await put(subject, "t", recordAt(6, { checkpointId: "moved-7", names: ["own-2"] }));
      const places = { "early-2": 1, "further-2": 2, "next-3": 2, "twice-5": 5, "moved-7": 6, "own-2": 6 };
      for (const [name, seq] of Object.entries(places)) await expectAt(name, seq);
      const elsewhere = [
        "other-1",
        "mark-4",
        "none-7",
        "none-0",
        "none-05",
        "none--1",
        "none-zzzzzzzzzz",
        `n-${"9".repeat(99)}`,
      ];
      for (const name of elsewhere) await expectAt(name, undefined);
      assert.equal(await subject.copy("t", "copy", "second"), "copied");
      await put(subject, "t", recordAt(7, { checkpointId: "own-2" }), { drop: [5], replace: [recordAt(6)] });
      for (const [name, seq] of Object.entries({ "twice-5": 3, "own-2": 7, "moved-7": undefined }))
        await expectAt(name, seq);
      await put(subject, "t", recordAt(8), { drop: [7], replace: [recordAt(3, { checkpointId: "anew-3" })] });
      for (const [name, seq] of Object.entries({ "own-2": 2, "twice-5": undefined, "anew-3": 3 }))
        await expectAt(name, seq);
      for (const [name, seq] of Object.entries(places))
        assert.equal((await subject.entry("copy", name))?.seq, seq, name);
    },
  },
  {
    name: "a record takes as many names as it may have, and no more",
    run: async ({ subject }) => {
      const many = Array.from({ length: MOST_NAMES }, (_, index) => `${index} ${"n".repeat(1000)}`);
      const full = await put(subject, "t", recordAt(1, { names: many }));
      for (const name of [many[0], many.at(-1)]) assertEntry(await subject.entry("t", name ?? ""), full, "the entry");
      for (const names of [[], ["twice", "twice"], ["checkpoint-2"], [""], [...many, "one more"], ["\n"]]) {
        const append = (): unknown => subject.append("t", requestFor(recordAt(2, { names })));
        await failsWith("INVALID_ARGUMENT", append, `the names ${JSON.stringify(names).slice(0, 80)}`);
      }
      await assertThread(subject, "t", [full], "the thread");
    },
  },
  {
    name: "a head may be any earlier checkpoint: it is what listings show, and the list shows what is above it too",
    run: async ({ subject }) => {
      await grow(subject, "t", 3);
      const late = await put(subject, "t", recordAt(4, { head: 2 }));
      assert.equal((await subject.tail("t"))?.entry.head, 2);
      const listed = [late, recordAt(3), recordAt(2), recordAt(1)];
      assertEntries(await subject.list("t", { limit: 9 }), listed, "the list");
      assertEntries(await subject.list("t", { limit: 2 }), listed.slice(0, 2), "the newest two");
      if (subject.capabilities.listThreads) {
        const [thread] = await threadsOf(subject, "", 9);
        assertEntry(thread?.head, recordAt(2), "the head in a listing of threads");
      }
      await put(subject, "t", markAt(5, { head: 3 }));
      assert.equal((await subject.tail("t"))?.entry.head, 3, "a mark may move the head");
    },
  },
  {
    name: "a query looks at the metadata of the head, wherever that was moved",
    needs: ["metadataQuery"],
    run: async ({ subject }) => {
      const found = async (value: string): Promise<number[]> => {
        const page = await subject.queryMetadata("of", JSON.stringify(value), { limit: 9 });
        return (page?.items ?? []).filter(isReadable).map(({ head }) => head.seq);
      };
      const of = (value: string): { metadata: string } => ({ metadata: JSON.stringify({ of: value }) });
      await put(subject, "t", recordAt(1, of("one")));
      await put(subject, "t", recordAt(2, of("two")));
      assert.deepEqual([await found("one"), await found("two")], [[], [2]]);
      await put(subject, "t", recordAt(3, { head: 1, ...of("three") }));
      assert.deepEqual([await found("one"), await found("two"), await found("three")], [[1], [], []], "moved back");
      await put(subject, "t", markAt(4, { head: 3 }));
      assert.deepEqual([await found("one"), await found("three")], [[], [3]], "moved by a mark");
      await put(subject, "t", recordAt(5, of("five")), { more: [recordAt(6, { head: 2 })] });
      assert.deepEqual([await found("five"), await found("two")], [[], [2]], "moved by the last of several");
    },
  },
]);
