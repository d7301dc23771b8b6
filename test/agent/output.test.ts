import { describe, expect, test } from "vitest";
import type { Run } from "../../src/agent/run.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { textOf } from "../../src/state/message.ts";
import { type ScriptedModel, type ScriptStep, scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf } from "./agent-of.ts";
import { standardSchema } from "./standard-schema.ts";
import { MemoryStore } from "./stored-thread.ts";

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;

function run(
  store: MemoryStore,
  steps: readonly ScriptStep[],
  prompt?: string,
  maxOutputRepairs = 2,
): { model: ScriptedModel; run: Run<unknown> } {
  const model = scriptedModel(steps);
  const agent = agentOf({ model, checkpointer: store.open(), outputSchema: CITY, maxOutputRepairs });
  return { model, run: agent.run(prompt, { threadId: "t" }) };
}

test("an answer that fits is given as a value", async () => {
  const result = await run(new MemoryStore(), ['{"city": "Bern"}'], "where?").run;
  expect(result).toMatchObject({ stopReason: "complete", output: { city: "Bern" }, text: '{"city": "Bern"}' });
});

test("a Markdown fence around it is forgiven", async () => {
  expect((await run(new MemoryStore(), ['```json\n{"city": "Bern"}\n```'], "where?").run).output).toEqual({
    city: "Bern",
  });
});

test("the model is told the schema", async () => {
  const { model, run: asked } = run(new MemoryStore(), ['{"city": "Bern"}'], "where?");
  await asked;
  expect(model.requests[0]?.responseSchema).toEqual({ name: "answer", schema: CITY });
});

test("a Standard Schema's own value is given", async () => {
  const outputSchema = standardSchema(CITY, (value) => ({ value: (value as { city: string }).city.toUpperCase() }));
  const agent = agentOf<string>({ model: scriptedModel(['{"city": "Bern"}']), outputSchema });
  expect((await agent.run("where?")).output).toBe("BERN");
});

test("an answer that does not fit is asked for again, with what is wrong, and both are stored", async () => {
  const store = new MemoryStore();
  const { model, run: asked } = run(store, ["in Bern", '{"town": "Bern"}', '{"city": "Bern"}'], "where?");
  expect(await asked).toMatchObject({ stopReason: "complete", output: { city: "Bern" }, iterations: 3 });
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toMatch(/not JSON/);
  expect(textOf(model.requests[2]!.messages.at(-1)!)).toMatch(/city/);
  expect((await store.lines()).map((line) => line.split(":")[0])).toEqual([
    "user",
    "assistant",
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
});

test("what the agent asked by itself can be told from what the user said", async () => {
  const store = new MemoryStore();
  await run(store, ["in Bern", '{"city": "Bern"}'], "where?").run;
  const users = (await store.state()).messages.filter(({ role }) => role === "user");
  expect(users.map(({ metadata }) => metadata)).toEqual([undefined, { "holdfast.repair": true }]);
});

test("the repair is saved while the model is asked again", async () => {
  const store = new MemoryStore();
  let stored = 0;
  const again: ScriptStep = async () => {
    await store.holds(3);
    stored = (await store.lines()).length;
    return '{"city": "Bern"}';
  };
  await run(store, ["in Bern", again], "where?").run;
  expect(stored).toBe(3);
});

test.each([0, 1, 3])("after %i repairs the run ends, and says that the answer never fitted", async (repairs) => {
  const store = new MemoryStore();
  const { model, run: asked } = run(store, Array(9).fill("no"), "where?", repairs);
  expect(await asked).toMatchObject({ stopReason: "invalid-output", output: undefined, text: "no" });
  expect(model.requests).toHaveLength(repairs + 1);
});

describe("repairs are bounded for a turn, not for a process:", () => {
  test("one that was cut short goes on where it was", async () => {
    const store = new MemoryStore();
    const failing = new ModelError("down", { retryable: false });
    await failureOf(() => run(store, ["no", "no", failing], "where?").run);
    const resumed = run(store, ["no", "no", "no"]);
    expect(await resumed.run).toMatchObject({ stopReason: "invalid-output" });
    expect(resumed.model.requests).toHaveLength(1);
  });

  test("the next turn has all of them", async () => {
    const store = new MemoryStore();
    await run(store, Array(3).fill("no"), "where?").run;
    const next = run(store, ["no", "no", '{"city": "Bern"}'], "please");
    expect(await next.run).toMatchObject({ stopReason: "complete" });
  });

  test("a thread that ended so is not asked again without a prompt", async () => {
    const store = new MemoryStore();
    await run(store, Array(3).fill("no"), "where?").run;
    expect(await run(store, []).run).toMatchObject({ stopReason: "invalid-output", iterations: 0 });
  });

  test("the same prompt again while a repair was under way is not said twice", async () => {
    const store = new MemoryStore();
    await failureOf(() => run(store, ["no", new ModelError("down", { retryable: false })], "where?").run);
    await run(store, ['{"city": "Bern"}'], "where?").run;
    expect((await store.lines()).filter((line) => line === "user: where?")).toHaveLength(1);
  });
});

test("a finished thread gives its value again without a model call", async () => {
  const store = new MemoryStore();
  await run(store, ['{"city": "Bern"}'], "where?").run;
  expect(await run(store, []).run).toMatchObject({ stopReason: "complete", output: { city: "Bern" }, iterations: 0 });
});

test.each([-1, 0.5, Number.NaN])("%s repairs are refused when the agent is made", (maxOutputRepairs) => {
  const make = (): unknown => agentOf({ model: scriptedModel([]), outputSchema: CITY, maxOutputRepairs });
  expect(make).toThrow(/maxOutputRepairs/);
});

test("a schema that a model cannot be told is refused when the agent is made", () => {
  const mute = { "~standard": { version: 1, vendor: "old", validate: () => ({ value: 1 }) } } as const;
  const make = (): unknown => agentOf({ model: scriptedModel([]), outputSchema: mute });
  expect(make).toThrow(/outputSchema/);
});

describe("the output of one run", () => {
  const agent = (...answers: readonly ScriptStep[]) => agentOf({ model: scriptedModel(answers), outputSchema: CITY });

  test("follows the run's own schema, and the next run that of the agent", async () => {
    const ours = agent('{"n": 5}', '{"city": "Bern"}');
    const N = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;
    expect((await ours.run("how many?", { outputSchema: N })).output).toEqual({ n: 5 });
    expect((await ours.run("where?")).output).toEqual({ city: "Bern" });
  });

  test("cannot be asked of a run that is under way for another", () => {
    expect(() => agent().run("where?", { threadId: "t", outputSchema: CITY, whenBusy: "enqueue" })).toThrow(
      /outputSchema cannot be asked for/,
    );
  });
});
