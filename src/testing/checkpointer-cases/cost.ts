import assert from "node:assert/strict";
import { userMessage } from "../../state/message.ts";
import { assertSame } from "../same-value.ts";
import { type CheckpointerCase, checkpointerCasesOf, detailed } from "./checkpointer-case.ts";
import { conversation, growThread, listCheckpoints, loaded } from "./conversations.ts";

const KILOBYTE = "x".repeat(1000);

const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

export const costCases: readonly CheckpointerCase[] = checkpointerCasesOf("cost", [
  {
    name: "what a save writes does not grow with the thread",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      let state = conversation(0);
      for (let index = 0; index < 120; index++) {
        state = state.withMessage(userMessage(`${index} ${KILOBYTE}`));
        await subject.save(state, "t");
      }
      const bytes = (await listCheckpoints(subject, "t", { limit: 120 })).items.map((summary) => summary.bytes ?? 0);
      const [late, early] = [medianOf(bytes.slice(0, 30)), medianOf(bytes.slice(90))];
      assert.ok(early >= KILOBYTE.length, "the bytes are real");
      assert.ok(late <= early * 1.2, `an early save writes ${early} bytes, a late one ${late}`);
      const total = (await detailed(subject).stats("t"))?.bytes ?? Number.POSITIVE_INFINITY;
      assert.ok(total <= 3 * 120 * KILOBYTE.length, `120 saves of a kilobyte wrote ${total} bytes in all`);
    },
  },
  {
    name: "a thread that is loaded before every save costs no more",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      await subject.save(conversation(1), "t");
      for (let index = 0; index < 40; index++) {
        await subject.save((await loaded(subject, "t")).withMessage(userMessage(KILOBYTE)), "t");
      }
      const stats = await detailed(subject).stats("t");
      assert.ok((stats?.bytes ?? Number.POSITIVE_INFINITY) <= 3 * 40 * 1000, `${stats?.bytes} bytes`);
    },
  },
  {
    name: "a value that is overwritten at every save does not make loading ever dearer",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      let state = conversation(1);
      for (let index = 0; index < 120; index++) {
        state = state.withMetadata({ draft: `${index} ${"y".repeat(4000)}` });
        await subject.save(state, "t");
      }
      const stats = await detailed(subject).stats("t");
      assert.ok((stats?.loadBytes ?? Number.POSITIVE_INFINITY) <= 160 * 1024, `${stats?.loadBytes} bytes to load`);
      assertSame((await loaded(subject, "t")).fields, state.fields, "state");
    },
  },
  {
    name: "a name that moves with every save costs what is new",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      let state = conversation(0);
      let written = 0;
      for (let index = 0; index < 60; index++) {
        state = state.withMessage(userMessage(`${index} ${KILOBYTE}`));
        await subject.save(state, "t", { checkpointId: "latest" });
        written += (await listCheckpoints(subject, "t", { limit: 1 })).items[0]?.bytes ?? Number.POSITIVE_INFINITY;
      }
      assert.ok(written <= 5 * 60 * KILOBYTE.length, `60 saves of a kilobyte wrote ${written} bytes`);
      const stats = await detailed(subject).stats("t");
      assert.equal(stats?.checkpoints, 1);
      assert.ok((stats?.bytes ?? 0) >= 60 * KILOBYTE.length, `${stats?.bytes} bytes cannot be all of it`);
      assertSame((await loaded(subject, "t", { checkpointId: "latest" })).fields, state.fields, "state");
    },
  },
  {
    name: "stats tell what a thread holds, and undefined of one that is not there",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      assert.equal(await detailed(subject).stats("absent"), undefined);
      await growThread(subject, "t", 5);
      const stats = await detailed(subject).stats("t");
      const { items: listed } = await listCheckpoints(subject, "t");
      assert.equal(stats?.checkpoints, 5);
      assert.equal(stats.messages, 5);
      assert.equal(
        stats.bytes,
        listed.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
      );
      assert.ok(stats.loadRecords >= 1 && stats.loadBytes >= 1, "loading reads something");
      assert.deepEqual(stats.lastAt, listed[0]?.createdAt);
      assert.deepEqual(stats.firstAt, listed[4]?.createdAt);
    },
  },
]);
