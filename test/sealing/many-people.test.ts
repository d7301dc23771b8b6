import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../../src/state/message.ts";
import { attributed, ofNobody } from "../../src/state/people/subjects.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { KEY } from "../session/people.ts";
import { sampleKeyring } from "./sample-keyring.ts";

const PEOPLE = ["ada", "bob", "cem", "dee", "eve", "fay", "__proto__", "constructor"];

async function destroy(keyring: Keyring, person: string): Promise<void> {
  for await (const people of keyring.people()) {
    for (const { token, subject } of people) if (subject === person) await keyring.destroy(token);
  }
}

/** One record with everything that may be about a person, of more people than are checked one by one. */
function crowd(threadSubject: readonly string[]): AgentState {
  let state = AgentState.create({
    metadata: {
      ...(threadSubject.length > 0 && { subject: threadSubject }),
      plan: attributed(["ada", "bob"], { zebra: [1, new Map([["k", attributed("cem", "zebra of cem")]])] }),
      $: attributed("dee", { $: "zebra" }),
      rest: ofNobody("stays"),
      free: "follows the thread",
    },
  });
  for (const [index, subject] of PEOPLE.entries()) {
    const both = [subject, PEOPLE[(index + 1) % PEOPLE.length] ?? ""];
    state = state
      .withMessage(userMessage(`zebra of ${subject}`, { metadata: { subject } }))
      .withMessage(userMessage("zebra of two", { metadata: { subject: both } }))
      .withMessage(userMessage("of no person", { metadata: { inner: attributed(subject, "zebra inside") } }))
      .withMessage(userMessage("of the thread"))
      .withMessage(
        assistantMessage("", {
          toolCalls: [{ id: `call ${subject}`, name: "look", arguments: { zebra: subject } }],
          metadata: { subject },
        }),
      );
  }
  return state;
}

test.each([[[]], [["ada"]]])(
  "of a record about many people, a destroyed key leaves what an erasure of that person leaves (thread of %j)",
  async (threadSubject: readonly string[]) => {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const sealed = new Checkpointer(new MemoryLog(), { sealing: new Sealing({ keyring }) });
    const plain = new Checkpointer(new MemoryLog());
    const data = new PersonalData({ checkpointers: [plain], ledger: new InMemoryStore(), key: KEY });
    const state = crowd(threadSubject);
    for (const each of [sealed, plain]) {
      await each.save(state, "t");
      // And once as a delta.
      const loaded = await each.load("t");
      if (loaded !== undefined) await each.save(loaded.withMessages(crowd([]).messages), "t");
    }
    const whole = await plain.load("t");
    expect((await sealed.load("t"))?.toCheckpoint()).toEqual(whole?.toCheckpoint());
    for (const person of PEOPLE) {
      await destroy(keyring, person);
      await data.eraseUser(person);
      const [left, expected] = [await sealed.load("t"), await plain.load("t")];
      expect(left?.messages, person).toEqual(expected?.messages);
      expect(left?.metadata, person).toEqual(expected?.metadata);
    }
    expect(JSON.stringify((await sealed.load("t"))?.toCheckpoint())).not.toContain("zebra");
  },
);

test("a record about hundreds of people is sealed in the time of a save", async () => {
  const { keyring } = await sampleKeyring();
  const checkpointer = new Checkpointer(new MemoryLog(), { sealing: new Sealing({ keyring }) });
  const messages = Array.from({ length: 1500 }, (_, index) =>
    userMessage(`zebra ${index}`, { metadata: { subject: `person ${index % 300}` } }),
  );
  await checkpointer.save(AgentState.create({ messages }), "t");
  await destroy(keyring, "person 7");
  const left = (await checkpointer.load("t"))?.messages.map(({ content }) => content) ?? [];
  expect(left.filter((content) => content === "[erased]")).toHaveLength(5);
  expect(left[8]).toBe("zebra 8");
});
