import { describe, expect, test } from "vitest";
import { DIALOGUES } from "../../test/memory/dialogue-corpus.ts";
import { InMemoryStore } from "../backends/memory/store.ts";
import { assistantMessage, toolMessage, userMessage } from "../state/message.ts";
import { ConversationIndex, spokenLines } from "./conversation-index.ts";

const indexOf = (store = new InMemoryStore()) => ({
  store,
  index: new ConversationIndex({ store, namespace: ["said"], subject: "ann" }),
});
const lines = [
  { speaker: "Ann", text: "When did you go to Oslo?" },
  { speaker: "Bob", text: "In May, with my brother." },
  { speaker: "Ann", text: "The soup is ready." },
];

test("an answer is found by the question that it answers, and by who gave it", async () => {
  const { index } = indexOf();
  await index.add("t", lines);
  const [first, second] = await index.search("the trip to Oslo");
  expect([first?.index, second?.index].toSorted()).toEqual([0, 1]);
  expect((await index.search("What did Bob say?"))[0]).toMatchObject({ threadId: "t", index: 1, speaker: "Bob" });
});

test("adding again changes nothing, and a line that comes later is a neighbour of the last one", async () => {
  const { index, store } = indexOf();
  await index.add("t", lines.slice(0, 1));
  await index.add("t", lines, { from: 1 });
  await index.add("t", lines, { from: 1 });
  expect(await store.list(["said"], { recursive: true })).toHaveLength(3);
  expect((await index.search("brother")).map(({ index: place }) => place).toSorted()).toEqual([0, 1, 2]);
});

test("threads are apart, also where one's name begins with the other's, and each is removed by itself", async () => {
  const { index } = indexOf();
  for (const threadId of ["a", "a/b", "x".repeat(2000)]) await index.add(threadId, lines);
  const found = await index.search("soup", { threadId: "a" });
  expect(new Set(found.map(({ threadId }) => threadId))).toEqual(new Set(["a"]));
  expect(await index.remove("a")).toBe(3);
  expect(new Set((await index.search("soup")).map(({ threadId }) => threadId.length))).toEqual(new Set([3, 2000]));
});

test("of a thread's messages, what the user and the model said is indexed in its place", async () => {
  const { index } = indexOf();
  const messages = [
    userMessage("Find the parcel.", { name: "Ines" }),
    assistantMessage("", { toolCalls: [{ id: "c", name: "find", arguments: {} }] }),
    toolMessage("parcel: depot", { toolCallId: "c", toolName: "find" }),
    assistantMessage("It is in the depot."),
  ];
  await index.add("t", spokenLines(messages));
  expect((await index.search("parcel depot")).map(({ index: place }) => place).toSorted()).toEqual([0, 3]);
  expect((await index.search("Ines"))[0]).toMatchObject({ speaker: "Ines", index: 0 });
});

describe("on the project's own dialogues, by words alone", () => {
  const recall = async (isAlone: boolean): Promise<number> => {
    const { index } = indexOf();
    let [sum, count] = [0, 0];
    for (const { id, lines: said, questions } of DIALOGUES) {
      const spoken = said.map(([speaker, text]) => ({ speaker, text }));
      if (!isAlone) await index.add(id, spoken);
      else {
        for (const [place] of spoken.entries()) {
          await index.add(
            id,
            spoken.map((line, other) => (other === place ? line : { ...line, text: "" })),
          );
        }
      }
      for (const [question, ...evidence] of questions) {
        const found = new Set((await index.search(question, { threadId: id, limit: 5 })).map((line) => line.index));
        sum += evidence.filter((place) => found.has(place)).length / evidence.length;
        count++;
      }
    }
    return sum / count;
  };

  test("neighbours bring twice as many answers among the first five as lines alone", async () => {
    expect(await recall(false)).toBeGreaterThan(2 * (await recall(true)));
  });
});
