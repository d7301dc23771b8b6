import assert from "node:assert/strict";
import type { AppendOutcome, LogChain, ThreadLog } from "../../checkpoint/log/thread-log.ts";
import { another } from "../conformance-case.ts";
import { assertAbsent, assertThread, grow, markAt, placeAt, put, recordAt, requestFor } from "./sample-records.ts";
import { type ThreadLogCase, threadLogCasesOf } from "./thread-log-case.ts";

const WRITERS = 16;

const winnersOf = (outcomes: readonly AppendOutcome[]): readonly number[] =>
  outcomes.flatMap((outcome, index) => (outcome.appended ? [index] : []));

/** All writers append at one position; exactly one may get it. */
async function race(logs: readonly ThreadLog[], expected: number): Promise<void> {
  const outcomes = await Promise.all(
    Array.from({ length: WRITERS }, (_, writer) => {
      const record = recordAt(expected + 1, { writeId: `writer ${writer}`, checkpointId: `of writer ${writer}` });
      const generation = expected === 0 ? `of writer ${writer}` : "first";
      return (logs[writer % logs.length] as ThreadLog).append("t", requestFor(record, { generation }));
    }),
  );
  const [winner, ...others] = winnersOf(outcomes);
  assert.ok(winner !== undefined, "one writer must win");
  assert.deepEqual(others, [], "only one writer may win");
  for (const log of logs) {
    const chain = await log.readTail("t");
    assert.equal(chain?.tail.writeId, `writer ${winner}`, "the winner's record is the tail");
    assert.equal(chain?.records.length, expected + 1, "and nothing of the others is there");
  }
}

/** Every edit replaces record 1 and drops the tail before it, so that a reader can tell a half of it. */
async function assertWhole(chain: LogChain | undefined): Promise<void> {
  assert.equal(chain?.records.length, 2, "a reader sees the thread before an append or after it, never between");
  assert.equal(
    chain.records[0]?.header,
    `edit ${chain.tail.seq}`,
    "a replaced record belongs to the tail it was read with",
  );
  assert.equal(chain.records[1]?.seq, chain.tail.seq, "the tail is the last of the records");
}

/** Edits the thread again and again while `look` is called again and again. */
async function whileEditing(log: ThreadLog, look: () => Promise<void>): Promise<void> {
  await put(log, "t", recordAt(1, { header: "edit 2" }));
  await put(log, "t", markAt(2, { head: 1 }));
  let done = false;
  const edit = async (): Promise<void> => {
    try {
      for (let seq = 3; seq <= 40; seq++) {
        const replace = [recordAt(1, { header: `edit ${seq}` })];
        await put(log, "t", markAt(seq, { head: 1 }), { replace, drop: [seq - 1] });
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      done = true;
    }
  };
  const watch = async (): Promise<void> => {
    while (!done) {
      await look();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all([edit(), watch(), watch()]);
}

export const racingCases: readonly ThreadLogCase[] = threadLogCasesOf("races", [
  {
    name: "of many appends at one position exactly one wins",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await grow(subject, "t", 2);
      await race([subject], 2);
    },
  },
  {
    name: "of many creations of one thread exactly one wins",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => race([subject], 0),
  },
  {
    name: "of many appends through several instances exactly one wins",
    needs: ["conditionalAppend", "reopen"],
    run: async (fixture) => {
      const logs = [fixture.subject, await another(fixture), await another(fixture)];
      await grow(fixture.subject, "t", 2);
      await race(logs, 2);
    },
  },
  {
    name: "one append sent many times at once is applied once, and every sender can tell",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      await grow(subject, "t", 1);
      const request = requestFor(recordAt(2));
      const outcomes = await Promise.all(Array.from({ length: WRITERS }, () => subject.append("t", request)));
      assert.equal(winnersOf(outcomes).length, 1);
      for (const outcome of outcomes) {
        assert.ok(outcome.appended || outcome.occupant?.writeId === "write-2", "a refused repeat sees itself");
      }
      await assertThread(subject, "t", [recordAt(1), recordAt(2)], "the thread");
    },
  },
  {
    name: "appends to different threads do not hinder each other",
    run: async ({ subject }) => {
      const ids = Array.from({ length: 24 }, (_, index) => `thread ${index}`).sort();
      await Promise.all(ids.map((threadId) => grow(subject, threadId, 4)));
      for (const threadId of ids) {
        await assertThread(
          subject,
          threadId,
          [1, 2, 3, 4].map((seq) => recordAt(seq)),
          threadId,
        );
      }
    },
  },
  {
    name: "of appends to many threads at once each is answered for itself, whatever becomes of the others",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      const ids = Array.from({ length: 24 }, (_, index) => `thread ${index}`);
      await Promise.all(ids.map((threadId) => grow(subject, threadId, 2)));
      // Every fourth is sound. Of the others one is late, one is of another generation, and one replaces what is not there.
      const requests = [
        requestFor(recordAt(3)),
        requestFor(recordAt(2, { writeId: "late" })),
        requestFor(recordAt(3), { generation: "another" }),
        requestFor(recordAt(3), { drop: [2], replace: [recordAt(1)] }),
      ] as const;
      await put(subject, "thread 3", recordAt(3), { drop: [1] });
      const answers = await Promise.allSettled(
        ids.map((threadId, index) => {
          const request = requests[index % 4] ?? requests[0];
          const behind = requestFor(recordAt(4), { replace: [recordAt(1)] });
          return subject.append(threadId, threadId === "thread 3" ? behind : request);
        }),
      );
      for (const [index, answer] of answers.entries()) {
        const threadId = ids[index] ?? "";
        const refused = index % 4 === 1 || index % 4 === 2;
        const what = `${threadId}: ${JSON.stringify(answer)}`;
        if (threadId === "thread 3") assert.equal(answer.status, "rejected", what);
        else assert.equal(answer.status === "fulfilled" && answer.value.appended, !refused, what);
        const kept = threadId === "thread 3" ? [2, 3] : refused ? [1, 2] : index % 4 === 0 ? [1, 2, 3] : [1, 3];
        const chain = await subject.readTail(threadId);
        assert.deepEqual(
          chain?.records.map(({ seq }) => seq),
          kept,
          what,
        );
      }
    },
  },
  {
    name: "an append that races a removal brings nothing back",
    run: async ({ subject }) => {
      for (let round = 0; round < 10; round++) {
        await grow(subject, "t", 2, `round ${round}`);
        const generation = `round ${round}`;
        await Promise.all([
          subject.append("t", requestFor(recordAt(3), { generation })),
          subject.remove("t"),
          subject.append("t", requestFor(recordAt(3, { writeId: "other" }), { generation })),
        ]);
        await assertAbsent(subject, "t", `round ${round}`);
      }
    },
  },
  {
    name: "of an append and a removal that name the same tail exactly one happens",
    needs: ["conditionalAppend"],
    run: async ({ subject }) => {
      for (let round = 0; round < 10; round++) {
        const generation = `round ${round}`;
        await grow(subject, "t", 2, generation);
        const remove = () => subject.remove("t", placeAt(2, generation));
        const append = () => subject.append("t", requestFor(recordAt(3), { generation }));
        const both = round % 2 === 0 ? [append(), remove()] : [remove(), append()];
        const answers = await Promise.all(both as Promise<unknown>[]);
        const appended = answers.some((answer) => (answer as Partial<AppendOutcome>).appended === true);
        assert.equal(answers.includes("removed"), !appended, "exactly one of the two");
        assert.equal((await subject.readTail("t"))?.records.length, appended ? 3 : undefined);
        await subject.remove("t");
      }
    },
  },
  {
    name: "of many copies to one target exactly one happens",
    run: async ({ subject }) => {
      const records = await grow(subject, "t", 3);
      const copies = Array.from({ length: 8 }, (_, index) => subject.copy("t", "u", `copy ${index}`));
      const answers = await Promise.all(copies);
      assert.equal(answers.filter((answer) => answer === "copied").length, 1);
      assert.equal((await subject.tail("u"))?.generation, `copy ${answers.indexOf("copied")}`);
      await assertThread(subject, "u", records, "the copy");
    },
  },
  {
    name: "a reader never sees a part of an append's edits",
    run: async ({ subject }) => whileEditing(subject, async () => assertWhole(await subject.readTail("t"))),
  },
  {
    name: "a copy never takes a part of an append's edits",
    run: async ({ subject }) => {
      let copies = 0;
      await whileEditing(subject, async () => {
        const target = `copy ${copies++}`;
        await subject.copy("t", target, "copied");
        await assertWhole(await subject.readTail(target));
      });
    },
  },
]);
