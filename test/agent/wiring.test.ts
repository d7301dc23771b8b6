import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import type { BaseCheckpointer } from "../../src/checkpoint/base-checkpointer.ts";
import type { Model } from "../../src/models/model.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { MapStorage } from "../dict-storages.ts";
import { linesOf } from "./stored-thread.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-wiring-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

describe.each(["sqlite", "file"])("a checkpointer given by its URL (%s:)", (scheme) => {
  const url = (): string => `${scheme}:${join(directory, scheme)}`;

  test("is opened by the first run, and another agent finds the thread there", async () => {
    await using first = new Agent({ model: scriptedModel(["hello Ann"]), checkpointer: url() });
    await first.run("I am Ann", { threadId: "t" });
    await using second = new Agent({ model: scriptedModel(["Ann"]), checkpointer: url() });
    const { state } = await second.run("who am I?", { threadId: "t" });
    expect(linesOf(state)).toEqual(["user: I am Ann", "assistant: hello Ann", "user: who am I?", "assistant: Ann"]);
  });
});

test("a checkpointer that was handed in stays open when the agent is closed", async () => {
  const checkpointer = new MemoryCheckpointer();
  const agent = new Agent({ model: scriptedModel(["hi"]), checkpointer });
  await agent.run("hello", { threadId: "t" });
  await agent.close();
  expect(await checkpointer.exists("t")).toBe(true);
  expect(() => agent.run("more", { threadId: "t" })).toThrow(expect.objectContaining({ code: "CLOSED" }));
});

test("an unknown URL or model name is refused when the agent is made, with what to write instead", () => {
  const refused = { code: "INVALID_ARGUMENT" };
  const model = scriptedModel([]);
  expect(() => new Agent({ model, checkpointer: "nowhere:./secret" })).toThrow(expect.objectContaining(refused));
  expect(() => new Agent({ model, checkpointer: "nowhere:./secret" })).toThrow(/no backend knows this URL; .*sqlite:/);
  expect(() => new Agent({ model, checkpointer: "nowhere:./secret" })).not.toThrow(/secret/);
  for (const name of ["gpt-5", "opnai:gpt-5", "openai:"]) {
    expect(() => new Agent({ model: name })).toThrow(/no model for the string .*openai:gpt-5/);
  }
  expect(() => new Agent({ model: "openai:gpt-5", checkpointer: "memory:" })).not.toThrow();
});

test("a raw storage where a checkpointer belongs is refused when the agent is made, with what to write instead", () => {
  const make = (): unknown =>
    new Agent({ model: scriptedModel([]), checkpointer: new MapStorage() as unknown as BaseCheckpointer });
  expect(make).toThrow(/StorageBackendAdapter/);
});

test.each([{}, 5, null, undefined])("%j is refused as a model with what to give instead", async (model) => {
  const run = async (): Promise<unknown> => new Agent({ model: model as unknown as Model }).run("hello");
  await expect(run()).rejects.toThrow(/model must be/);
});

test("a model that fails in a way that may pass is asked again, and the prompt is said once", async () => {
  const checkpointer = new MemoryCheckpointer();
  const overloaded = new ModelError("overloaded", { retryable: true, retryAfterMs: 1 });
  const model = scriptedModel([overloaded, "hi"]);
  const { state } = await new Agent({ model, checkpointer }).run("hello", { threadId: "t" });
  expect(linesOf(state)).toEqual(["user: hello", "assistant: hi"]);
});
