import assert from "node:assert/strict";
import { textOf } from "../../state/message.ts";
import { failsWith } from "../expect-failure.ts";
import { type CheckpointerCase, checkpointerCasesOf } from "./checkpointer-case.ts";
import { and, conversation, growThread, historyOf, listCheckpoints } from "./conversations.ts";

export const listingCases: readonly CheckpointerCase[] = checkpointerCasesOf("history", [
  {
    name: "checkpoints are listed newest first, ten unless asked otherwise",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 12);
      const { items: listed } = await listCheckpoints(subject, "t");
      assert.deepEqual(
        listed.map(({ checkpointId }) => checkpointId),
        ids.toReversed().slice(0, 10),
      );
    },
  },
  {
    name: "a list holds as many as were asked for",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 5);
      for (const limit of [1, 2, 5, 100]) {
        const { items: listed } = await listCheckpoints(subject, "t", { limit });
        assert.deepEqual(
          listed.map(({ checkpointId }) => checkpointId),
          ids.toReversed().slice(0, limit),
        );
      }
      assert.equal((await subject.listCheckpoints("t", { limit: 0 })).length, 0);
    },
  },
  {
    name: "the pages of a history hold every checkpoint once, to the end",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 11);
      for (const limit of [1, 3, 10, 11, 12]) {
        const met: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await listCheckpoints(subject, "t", { limit, ...(cursor !== undefined && { cursor }) });
          met.push(...page.items.map(({ checkpointId }) => checkpointId));
          cursor = page.cursor;
        } while (cursor !== undefined);
        assert.deepEqual(met, ids.toReversed(), `pages of ${limit}`);
      }
    },
  },
  {
    name: "a history of more than one page is walked to its end",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 230);
      assert.deepEqual(await historyOf(subject, "t"), ids.toReversed());
    },
  },
  {
    name: "the history of an absent thread is empty",
    run: async ({ subject }) => {
      assert.deepEqual([...(await subject.listCheckpoints("absent"))], []);
      assert.deepEqual(await historyOf(subject, "absent"), []);
    },
  },
  {
    name: "a summary tells what its checkpoint is, without loading it",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3, (index) => ({ metadata: { index } }));
      const { items: listed } = await listCheckpoints(subject, "t");
      assert.deepEqual(
        listed.map(({ messageCount }) => messageCount),
        [3, 2, 1],
      );
      assert.deepEqual(
        listed.map(({ metadata }) => metadata),
        [{ index: 3 }, { index: 2 }, { index: 1 }],
      );
      assert.deepEqual(
        listed.map(({ parentId }) => parentId),
        [ids[1], ids[0], undefined],
      );
      for (const { createdAt, bytes } of listed) {
        assert.ok(createdAt instanceof Date && !Number.isNaN(createdAt.getTime()), "createdAt");
        assert.ok((bytes ?? 0) > 0, "bytes");
      }
      const positions = listed.map(({ seq }) => seq ?? 0);
      assert.deepEqual(
        positions,
        positions.toSorted((a, b) => b - a),
        "a larger seq is newer",
      );
    },
  },
  {
    name: "a parent is an older checkpoint that is there, whatever was deleted or moved",
    needs: ["history", "details"],
    run: async ({ subject }) => {
      const { state, ids } = await growThread(subject, "t", 4);
      const rewritten = state.withHistory(conversation(2, "anew").messages);
      await subject.save(rewritten, "t", { checkpointId: "name" });
      await subject.save(and(rewritten, "more"), "t", { checkpointId: "name" });
      for (const checkpointId of [ids[0], ids[2], ids[3]] as string[]) await subject.delete("t", { checkpointId });
      const { items: listed } = await listCheckpoints(subject, "t");
      for (const [index, { parentId }] of listed.entries()) {
        const older = listed.slice(index + 1).map(({ checkpointId }) => checkpointId);
        assert.ok(parentId === undefined || older.includes(parentId), `${parentId} is not an older checkpoint`);
      }
    },
  },
  {
    name: "a diff says what was added, removed and changed",
    needs: ["history"],
    run: async ({ subject }) => {
      const before = conversation(3).withMetadata({ same: 1, changed: 1, removed: 1 });
      const first = await subject.save(before, "t");
      const after = before
        .withHistory([...before.messages.slice(0, 2), ...conversation(2, "other").messages])
        .withMetadata({ changed: 2, removed: undefined, added: 1 });
      const second = await subject.save(after, "t");
      const { messages, fields } = await subject.diff("t", first, second);
      assert.equal(messages.shared, 2);
      assert.deepEqual(messages.removed.map(textOf), ["message 3"]);
      assert.deepEqual(messages.added.map(textOf), ["other 1", "other 2"]);
      assert.deepEqual(Object.keys(fields).sort(), ["metadata.added", "metadata.changed", "metadata.removed"]);
      assert.deepEqual({ ...fields["metadata.changed"] }, { before: 1, after: 2 });
      const nothing = await subject.diff("t", second, second);
      assert.deepEqual([nothing.messages.added, nothing.messages.removed, Object.keys(nothing.fields)], [[], [], []]);
    },
  },
  {
    name: "the states of two threads are compared like those of one",
    needs: ["history"],
    run: async ({ subject }) => {
      const { ids } = await growThread(subject, "t", 3);
      await growThread(subject, "u", 2);
      const older = { threadId: "t", checkpointId: ids[1] ?? "" };
      const same = await subject.diff(older, { threadId: "u" });
      assert.deepEqual([same.messages.removed, same.messages.added], [[], []], "two threads that say the same");
      const { messages } = await subject.diff({ threadId: "u" }, { threadId: "t" });
      assert.deepEqual([messages.shared, messages.removed.length, messages.added.length], [2, 0, 1]);
      await failsWith("NOT_FOUND", () => subject.diff({ threadId: "t" }, { threadId: "absent" }), "an absent thread");
    },
  },
  {
    name: "a diff of a checkpoint that is not there is NOT_FOUND and names it",
    needs: ["history"],
    run: async ({ subject }) => {
      const id = await subject.save(conversation(1), "t");
      const error = await failsWith("NOT_FOUND", () => subject.diff("t", id, "absent"), "diff");
      assert.match(error.message, /absent/);
    },
  },
]);
