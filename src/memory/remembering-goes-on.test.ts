import { describe, expect, test } from "vitest";
import { home, memoryOf } from "../../test/memory/memory-of.ts";
import { KEY } from "../../test/session/people.ts";
import { InMemoryStore } from "../backends/memory/store.ts";
import { assistantMessage, userMessage } from "../state/message.ts";
import { PersonalData } from "../wiring/personal-data.ts";
import type { ExtractFunction } from "./extractor.ts";

const [first, second] = [userMessage("I live in Bern."), userMessage("Basel it is.")];

describe("an extractor", () => {
  test.each<[string, unknown, RegExp]>([
    ["that never answers", () => new Promise(() => undefined), /no answer within 20 ms/],
    ["that answers with nothing", async () => undefined, /no list/],
    ["that answers with an object", async () => ({ memories: [] }), /no list/],
    [
      "that throws at once",
      () => {
        throw new Error("broken");
      },
      /broken/,
    ],
  ])("%s fails, three times in all, and what is said next is remembered", async (_, bad, reason) => {
    const extract = (async (request) =>
      request.messages.some(({ text }) => text.includes("Basel"))
        ? [home("Basel", 1)]
        : (bad as ExtractFunction)(request)) as ExtractFunction;
    const { hear, shelf } = memoryOf({ extract, extractTimeoutMs: 20 });
    for (const expected of [reason, reason, /left out from now on/]) {
      await expect(hear([first])).rejects.toThrow(expected);
    }
    await hear([first, second]);
    expect(await shelf.list()).toMatchObject([{ value: "Basel" }]);
  });

  test("in plain JavaScript may answer without a promise", async () => {
    const { hear, shelf } = memoryOf({ extract: (() => [home("Bern")]) as unknown as ExtractFunction });
    await hear([first]);
    expect(await shelf.list()).toMatchObject([{ value: "Bern" }]);
  });
});

test("a fact that the store refuses costs no other, and does not end the remembering of its thread", async () => {
  const redact = (text: string): string => {
    if (text.includes("Bern")) throw new Error("not here");
    return text;
  };
  const store = new InMemoryStore({ redact });
  const extract: ExtractFunction = async ({ messages }) =>
    messages.flatMap(({ index, text }) =>
      text.includes("Basel")
        ? [home("Basel", index)]
        : [home("Bern", index), { ...home("I live", index), attribute: "b" }],
    );
  const { hear, shelf } = memoryOf({ store, extract });
  for (const expected of [/not here/, /not here/, /left out from now on/]) {
    await expect(hear([first])).rejects.toThrow(expected);
  }
  expect(await shelf.list()).toMatchObject([{ value: "I live", seen: 1 }]);
  await hear([first, second]);
  expect((await shelf.list()).map(({ value }) => value).toSorted()).toEqual(["Basel", "I live"]);
});

describe("what was forgotten", () => {
  const messages = [first, assistantMessage("Nice.")];

  test("as a whole does not come back with the next turn of the thread in which it was said", async () => {
    const { hear, shelf } = memoryOf();
    await hear(messages);
    await shelf.forgetEverything();
    await hear([...messages, userMessage("I work at Acme.")]);
    expect((await shelf.list()).map(({ value }) => value)).toEqual(["Acme"]);
  });

  test("as a whole leaves nothing of what was said", async () => {
    const { hear, shelf, store } = memoryOf();
    await hear(messages);
    await shelf.forgetEverything();
    const left = await store.list(["memory"], { recursive: true });
    expect(left.map(({ namespace, value }) => [namespace.at(-1), Object.keys(value as object)])).toEqual([
      ["forgotten", ["at"]],
    ]);
  });

  test("while an extractor was at work is not remembered by it", async () => {
    const extract: ExtractFunction = async () => {
      await shelf.forgetEverything();
      return [home("Bern")];
    };
    const { hear, shelf } = memoryOf({ extract });
    await hear(messages);
    expect(await shelf.list()).toEqual([]);
  });
});

test("nothing about a person under a legal hold is dropped: the cap waits, and remembering continues", async () => {
  const store = new InMemoryStore();
  const data = new PersonalData({ stores: [store], ledger: new InMemoryStore(), key: KEY });
  const extract: ExtractFunction = async ({ messages }) =>
    messages.flatMap(({ index, text }) =>
      text.split(" ").map((word) => ({ ...home(word, index), attribute: word, text: `A fact: ${word}.` })),
    );
  const { hear, shelf } = memoryOf({ store, extract, maxMemories: 2 });
  await hear([userMessage("one two")]);
  const { id } = await data.placeHold({ subject: "u", by: "counsel@example.com", reason: "case 17" });
  await hear([userMessage("one two"), userMessage("three four")]);
  expect((await shelf.list()).map(({ value }) => value).toSorted()).toEqual(["four", "one", "three", "two"]);
  await data.liftHold(id, { by: "counsel@example.com", reason: "closed" });
  await hear([userMessage("one two"), userMessage("three four"), userMessage("five")]);
  expect(await shelf.list()).toHaveLength(2);
});
