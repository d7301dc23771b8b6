import { describe, expect, test } from "vitest";
import { z } from "zod";
import { mcpTools } from "../../src/adapters/mcp/mcp-tools.ts";
import type { RunOptions } from "../../src/agent/run-options.ts";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { type AnySchema, readySchema } from "../../src/models/schema.ts";
import { modelFromString } from "../../src/providers/strings.ts";
import { userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent, type AgentOptions } from "../../src/wiring/agent.ts";

/** As a program in JavaScript calls them. */
const NewAgent = Agent as unknown as new (...given: unknown[]) => Agent;
const makeTool = tool as unknown as (...given: unknown[]) => unknown;
const execute = (): string => "done";
const charge = tool({ name: "charge", execute });
const agentWith = (options: object): Agent => new NewAgent({ model: scriptedModel(["hi"]), ...options });

describe("an agent that is made wrongly says what to write instead", () => {
  test.each<[what: string, make: () => unknown, says: RegExp]>([
    ["without options", () => new NewAgent(), /new Agent\(\) takes an options object, not undefined.*\{ model:/],
    [
      "with a name alone",
      () => new NewAgent("openai:gpt-5"),
      /options object, not a string\. Write new Agent\(\{ model/,
    ],
    [
      "with a model without an id",
      () => new NewAgent({ model: { stream: () => [] } }),
      /a model of your own needs an id/,
    ],
    ["without a model", () => new NewAgent({}), /model must be a name like "openai:gpt-5".*not undefined/],
    ["with a provider that was not called", () => new NewAgent({ model: () => ({}) }), /called with a name: openai\(/],
    [
      "with a misspelt option",
      () => agentWith({ checkpointr: "x" }),
      /no option "checkpointr"; did you mean "checkpointer"\?/,
    ],
    [
      "with an option of others",
      () => agentWith({ instructions: "x" }),
      /no option "instructions"; it takes model, tools/,
    ],
    [
      "with an option of another kind",
      () => agentWith({ systemPrompt: 5 }),
      /systemPrompt must be a string or a function, not a number/,
    ],
    ["with null for an option", () => agentWith({ hooks: null }), /hooks must be an object, not null/],
    [
      "with a misspelt hook",
      () => agentWith({ hooks: { afterTools: execute } }),
      /hooks.*"afterTools"; did you mean "afterTool"\?/,
    ],
    [
      "with half a memory",
      () => agentWith({ memory: { recall: execute } }),
      /memory.*recall\(\) and remember\(\); remember\(\) is missing/,
    ],
    ["with a conversation that shapes nothing", () => agentWith({ conversation: {} }), /shape\(\) is missing/],
  ])("%s", (_, make, says) => {
    expect(make).toThrow(says);
  });

  test("hooks that are an object of a class may have more members", () => {
    class Audit {
      readonly lines: string[] = [];
      afterTool(): void {
        this.lines.push("a tool ran");
      }
    }
    expect(() => agentWith({ hooks: new Audit() })).not.toThrow();
  });

  test("every option that the types have is known", () => {
    const all: Required<Omit<AgentOptions, "outputSchema">> = {
      model: scriptedModel([]),
      name: "shop",
      prices: {},
      runtimeFor: () => undefined,
      fallbackModels: [scriptedModel([])],
      prepareStep: () => undefined,
      maxOutputTokens: 1,
      temperature: 0,
      topP: 1,
      stopSequences: ["END"],
      seed: 0,
      modelTimeoutMs: 1_000,
      recordContent: true,
      toolChoice: "auto",
      providerOptions: {},
      tools: [charge],
      checkpointer: new MemoryCheckpointer(),
      systemPrompt: "",
      checkpointEveryNIterations: "end",
      toolConcurrency: 1,
      maxToolResultChars: 100,
      memory: { recall: async () => [], remember: async () => undefined },
      conversation: { shape: async (messages) => messages },
      hooks: { beforeRun: execute },
      maxOutputRepairs: 0,
      lease: { waitMs: 1 },
      whenBusy: "wait",
      saveRetryMs: 1,
      now: Date.now,
      maxIterations: 1,
      tokenBudget: 1,
      timeBudgetMs: 1,
      toolLoopThreshold: 1,
      stopWhen: () => false,
    };
    expect(() => new Agent(all)).not.toThrow();
  });
});

describe("tools that are given wrongly say what to write instead", () => {
  const client = { listTools: async () => ({ tools: [] }), callTool: async () => ({}) };
  test.each<[what: string, tools: unknown, says: RegExp]>([
    ["a record of tools", { charge }, /takes a list, not an object of tools\. Write tools: Object\.values\(/],
    [
      "a record of another library's",
      { charge: { description: "", execute } },
      /takes a list, not an object\. Write tools: \[tool\(\{ name/,
    ],
    ["one tool", charge, /a single tool\. Write tools: \[charge\]/],
    ["a promise", mcpTools(client), /a promise\. Write await before it/],
    [
      "a tool without tool()",
      [charge, { name: "refund", execute }],
      /tools\[1\] is "refund", which was not made by tool\(\)\. Write tool\(/,
    ],
    [
      "another library's tool without a name",
      [{ description: "", execute }],
      /an object that was not made by tool\(\)\. Write tool\(\{ name: "…"/,
    ],
    [
      "what an MCP server lists",
      [{ name: "a", inputSchema: {} }],
      /"a", which has no execute.*await mcpTools\(client\)/,
    ],
    ["a function", [execute], /tools\[0\] is a function\. Write tool\(\{ name: "execute", execute: execute \}\)/],
    ["a list in the list", [[charge]], /tools\[0\] is a list\. Put three dots before it/],
    ["nothing", [undefined], /tools\[0\] is undefined\. Make it with tool\(/],
    ["one twice", [charge, charge], /two tools are named "charge"/],
  ])("%s", (_, tools, says) => {
    expect(() => agentWith({ tools })).toThrow(says);
    expect(() => agentWith({ tools })).toThrow(TypeError);
  });

  test("a tool that carries more members than ours is taken", () => {
    expect(() => agentWith({ tools: [{ ...charge, toModelOutput: execute, type: "function" }] })).not.toThrow();
  });
});

describe("a misspelt option of a model or of an MCP server is not ignored", () => {
  test("a key under another name", async () => {
    await expect(modelFromString("openai:gpt-5", { apikey: "k" } as object)).rejects.toThrow(
      /modelFromString\(\) has no option "apikey"; did you mean "apiKey"\?/,
    );
  });

  test("mcpTools() without a client, or with an effect that is misspelt", async () => {
    const client = { listTools: async () => ({ tools: [] }), callTool: async () => ({}) };
    await expect(mcpTools("http://localhost" as unknown as typeof client)).rejects.toThrow(
      /a connected MCP client.*not a string/,
    );
    await expect(mcpTools(client, { efect: "trust" } as object)).rejects.toThrow(/did you mean "effect"\?/);
  });
});

describe("tool() says what is wrong with its options", () => {
  test.each<[what: string, given: unknown, says: RegExp]>([
    ["nothing", undefined, /tool\(\) takes an options object, not undefined/],
    ["a function", execute, /not a function\. Write tool\(\{ name: "execute", execute: execute \}\)/],
    [
      "a misspelt option",
      { name: "a", execute, needsAproval: true },
      /tool "a" has no option "needsAproval"; did you mean "needsApproval"\?/,
    ],
    [
      "a schema under another name",
      { name: "a", execute, parameters: {} },
      /no option "parameters"; did you mean "inputSchema"\?/,
    ],
    ["a function under another name", { name: "a", handler: execute }, /no option "handler"; did you mean "execute"\?/],
    [
      "an approval that is a text",
      { name: "a", execute, needsApproval: "yes" },
      /needsApproval must be a boolean or a function, not a string/,
    ],
    ["no name", { execute }, /a tool's name must be/],
  ])("%s", (_, given, says) => {
    expect(() => makeTool(given)).toThrow(says);
  });

  test("another library's members are let be, also beside ours", () => {
    const foreign = {
      type: "function",
      toModelOutput: execute,
      providerOptions: {},
      strict: true,
      schema: {},
      run: execute,
    };
    expect(() => makeTool({ name: "a", inputSchema: { type: "object" }, execute, ...foreign })).not.toThrow();
  });
});

describe("a schema that a model cannot be told says what to write instead", () => {
  const schemas: Readonly<Record<string, readonly [schema: unknown, says: RegExp]>> = {
    "an object of zod schemas and something else": [
      { city: z.string(), type: "object" },
      /is an object of schemas.*Write z\.object\(\{ … \}\) instead of \{ city: … \}/,
    ],
    "z.date()": [
      z.object({ on: z.date() }),
      /zod cannot write it as JSON Schema \(.*Date.*\)\. A model sends JSON.*z\.iso\.datetime\(\)\.transform/,
    ],
    "z.bigint()": [z.object({ n: z.bigint() }), /zod cannot write it as JSON Schema/],
    "a validator that is no Standard Schema": [{ parse: execute, _def: {} }, /has methods, so it is no JSON Schema/],
    "a list": [[z.string()], /is a list, not a schema/],
  };

  test.each(Object.entries(schemas))("%s", (_, [schema, says]) => {
    expect(() => tool({ name: "a", inputSchema: schema as AnySchema, execute })).toThrow(says);
    expect(() => agentWith({ outputSchema: schema })).toThrow(says);
  });

  test("what the message about dates proposes works", async () => {
    const inputSchema = z.object({ on: z.iso.datetime().transform((text) => new Date(text)) });
    const { check } = readySchema(inputSchema, "inputSchema");
    expect(await check({ on: "2026-01-02T03:04:05Z" })).toEqual({ value: { on: new Date("2026-01-02T03:04:05Z") } });
    expect(() => tool({ name: "a", inputSchema, execute })).not.toThrow();
  });

  test("JSON Schema stays what it was, empty or with words of its own", () => {
    for (const inputSchema of [{}, { type: "object", properties: { parse: { type: "string" } }, "x-note": null }]) {
      expect(() => tool({ name: "a", inputSchema, execute })).not.toThrow();
    }
  });
});

describe("a run that is started wrongly says what to write instead", () => {
  const run = (...given: unknown[]): unknown =>
    (agentWith({}).run as (...all: unknown[]) => unknown).apply(agentWith({}), given);

  test.each<[what: string, given: readonly unknown[], says: RegExp]>([
    [
      "the thread as second argument",
      ["hi", "t"],
      /run\(\) takes its options as an object, not a string\. Write agent\.run\(prompt, \{ threadId/,
    ],
    ["a misspelt option", ["hi", { threadID: "t" }], /run\(\) has no option "threadID"; did you mean "threadId"\?/],
    [
      "an option of the agent's",
      ["hi", { toolConcurrency: 3 }],
      /no option "toolConcurrency"; it takes threadId, signal, metadata/,
    ],
    ["a thread that is a number", ["hi", { threadId: 42 }], /threadId must be a string, not a number/],
    [
      "a controller for a signal",
      ["hi", { signal: new AbortController() }],
      /must be an AbortSignal.*write controller\.signal/,
    ],
    [
      "options in place of the prompt",
      [{ threadId: "t" }],
      /takes the prompt first.*agent\.run\(undefined, \{ threadId \}\)/,
    ],
    ["null", [null, { threadId: "t" }], /takes the prompt first.*not null/],
    ["a message of the assistant's", [{ role: "assistant", content: "" }], /takes the prompt first/],
  ])("%s", (_, given, says) => {
    expect(() => run(...given)).toThrow(says);
  });

  test("every prompt that the types have is taken", async () => {
    const { signal } = new AbortController();
    const metadata = { a: 1 };
    const session = { getWorking: () => undefined, setWorking: () => undefined, finished: async () => undefined };
    const options: Required<Omit<RunOptions, "backTo" | "outputSchema">> = {
      maxIterations: 1,
      tokenBudget: 1,
      timeBudgetMs: 60_000,
      toolLoopThreshold: 1,
      stopWhen: () => false,
      threadId: "t",
      signal,
      metadata,
      runtime: {},
      declinePending: false,
      whenBusy: "wait",
      messageId: "m",
      subject: "u1",
      session,
    };
    for (const prompt of ["hi", [{ type: "text", text: "hi" } as const], userMessage("hi")]) {
      expect((await agentWith({}).run(prompt, options)).text).toBe("hi");
    }
  });

  test("answer() without what it needs", () => {
    const resume = (given: unknown): unknown =>
      (agentWith({}) as unknown as { answer(all: unknown): unknown }).answer(given);
    expect(() => resume("t")).toThrow(/answer\(\) takes one object, not a string\. Write agent\.answer\(\{ threadId/);
    expect(() => resume({ threadId: "t" })).toThrow(/answer\(\) needs id/);
    expect(() => resume({ threadId: "t", id: "i", answer: 1 })).toThrow(/no option "answer"; it takes .*response/);
  });
});
