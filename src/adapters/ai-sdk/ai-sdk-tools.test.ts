import { tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { agentOf } from "../../../test/agent/agent-of.ts";
import { MemoryStore } from "../../../test/agent/stored-thread.ts";
import { textOf } from "../../state/message.ts";
import { scriptedModel } from "../../testing/models/scripted-model.ts";
import { aiSdkTools } from "./ai-sdk-tools.ts";

const inputSchema = z.object({ q: z.string() });
const asking = (name: string) => ({ toolCalls: [{ name, arguments: { q: "x" } }] });

/** A run that calls the tool once, and what the model was sent then. */
async function called(
  tools: Parameters<typeof aiSdkTools>[0],
  more: { runtime?: unknown; toolsContext?: object } = {},
) {
  const [name = ""] = Object.keys(tools);
  const model = scriptedModel([asking(name), "ready"]);
  const { runtime, toolsContext } = more;
  const agent = agentOf({
    model,
    tools: aiSdkTools(
      tools,
      toolsContext === undefined ? {} : { toolsContext: toolsContext as Record<string, unknown> },
    ),
    checkpointer: new MemoryStore().open(),
  });
  const result = await agent.run("go", { threadId: "t", runtime });
  const told = model.requests[1]?.messages.at(-1);
  return { result, model, told: told === undefined ? undefined : textOf(told), message: told };
}

test("the model is shown what toModelOutput makes of the output; what it hides is kept beside it", async () => {
  const search = tool({
    inputSchema,
    execute: async ({ q }) => ({ found: `about ${q}`, internalNote: "margin 40%" }),
    toModelOutput: ({ input, output, toolCallId }) => ({
      type: "text",
      value: `${toolCallId.length > 0} ${input.q}: ${output.found}`,
    }),
  });
  const { told, message } = await called({ search });
  expect(told).toBe("true x: about x");
  expect(message?.metadata).toEqual({ structuredContent: { found: "about x", internalNote: "margin 40%" } });
});

test("pictures of toModelOutput are files, and its errors are failures", async () => {
  const execute = async (): Promise<string> => "secret";
  const picture = tool({
    inputSchema,
    execute,
    toModelOutput: () => ({
      type: "content",
      value: [
        { type: "text", text: "a map" },
        { type: "file-data", data: "iVBO", mediaType: "image/png" },
      ],
    }),
  });
  expect((await called({ picture })).message?.content).toEqual([
    { type: "text", text: "a map" },
    { type: "file", mediaType: "image/png", data: Buffer.from("iVBO", "base64") },
  ]);
  const failing = tool({ inputSchema, execute, toModelOutput: () => ({ type: "error-text", value: "no such index" }) });
  expect((await called({ failing })).message).toMatchObject({ content: "no such index", isError: true });
});

test("needsApproval is told the call's id and the conversation before it, and may be async", async () => {
  const seen: unknown[] = [];
  const pay = tool({
    inputSchema,
    execute: async () => "paid",
    needsApproval: async (input, { toolCallId, messages }) => {
      seen.push(input, typeof toolCallId, messages);
      return true;
    },
  });
  expect((await called({ pay })).result.stopReason).toBe("pending");
  expect(seen).toEqual([{ q: "x" }, "string", [{ role: "user", content: [{ type: "text", text: "go" }] }]]);
});

test("a tool of version 6 gets the runtime as experimental_context", async () => {
  const who = tool({
    inputSchema,
    execute: async (_, { experimental_context }) => JSON.stringify(experimental_context),
  });
  expect((await called({ who }, { runtime: { user: "ada" } })).told).toBe('{"user":"ada"}');
});

/** As version 7 declares it: a context with a schema, and a description that depends on it. */
const version7 = {
  inputSchema,
  strict: true,
  contextSchema: z.object({ user: z.string() }),
  description: ({ context }: { context: { user: string } }) => `looks things up for ${context.user}`,
  execute: async (_: unknown, { context }: { context: { user: string } }) => `for ${context.user}`,
};

test("a tool of version 7 gets its own context, checked by its schema, and is described by it", async () => {
  const { told, model } = await called({ version7 }, { toolsContext: { version7: { user: "ada", more: 1 } } });
  expect(told).toBe("for ada");
  expect(model.requests[0]?.tools[0]).toMatchObject({ description: "looks things up for ada", strict: true });
  expect((await called({ version7 }, { runtime: { user: "bea" } })).told).toBe("for bea");
});

test("a context that does not fit is refused before anything is done, and says where it comes from", async () => {
  await expect(called({ version7 }, { runtime: { name: "ada" } })).rejects.toThrow(
    /the context of "version7" does not fit its contextSchema: .*hand it in as toolsContext, or as the run's runtime/,
  );
});
