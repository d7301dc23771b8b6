import { describe, expect, test } from "vitest";
import { agentOf, eventsOf, ofType } from "../../../test/agent/agent-of.ts";
import { MemoryStore } from "../../../test/agent/stored-thread.ts";
import { textOf } from "../../state/message.ts";
import { scriptedModel } from "../../testing/models/scripted-model.ts";
import { type McpClient, type McpTool, type McpToolsOptions, mcpTools } from "./mcp-tools.ts";

const OBJECT = { type: "object", properties: { q: { type: "string" } } } as const;
const described = (name: string, annotations?: McpTool["annotations"]): McpTool => ({
  name,
  description: `does ${name}`,
  inputSchema: OBJECT,
  ...(annotations !== undefined && { annotations }),
});

interface FakeClient extends McpClient {
  readonly calls: unknown[];
  readonly cursors: (string | undefined)[];
}

/** The part of a connected client that the adapter relies on. */
function client(pages: readonly (readonly McpTool[])[], answer: unknown = { content: [] }): FakeClient {
  const calls: unknown[] = [];
  const cursors: (string | undefined)[] = [];
  return {
    calls,
    cursors,
    listTools: async ({ cursor } = {}) => {
      cursors.push(cursor);
      const index = Number(cursor ?? 0);
      const more = index + 1 < pages.length ? { nextCursor: String(index + 1) } : {};
      return { tools: pages[index] ?? [], ...more };
    },
    callTool: async (call) => {
      calls.push(call);
      return answer;
    },
  };
}

async function resultOf(answer: unknown): Promise<{ text: string; isError: boolean }> {
  const model = scriptedModel([{ toolCalls: [{ name: "search", arguments: { q: "x" } }] }, "ready"]);
  await agentOf({ model, tools: await mcpTools(client([[described("search")]], answer)) }).run("go");
  const message = model.requests[1]?.messages.at(-1);
  if (message?.role !== "tool") throw new Error("no result");
  return { text: textOf(message), isError: message.isError ?? false };
}

test("every page of the server's list is read", async () => {
  const server = client([[described("a"), described("b")], [described("c")], []]);
  expect((await mcpTools(server)).map(({ name }) => name)).toEqual(["a", "b", "c"]);
  expect(server.cursors).toEqual([undefined, "1", "2"]);
});

test("a server that names the same next page again and again is given up", async () => {
  let asked = 0;
  const server: McpClient = {
    listTools: async () => {
      if (++asked > 20) throw new Error("asked for ever");
      return { tools: [], nextCursor: "again" };
    },
    callTool: async () => ({}),
  };
  await expect(mcpTools(server)).rejects.toThrow(/again/);
});

test("the model is told what the server says of a tool", async () => {
  const model = scriptedModel(["ready"]);
  await agentOf({ model, tools: await mcpTools(client([[described("search")]])) }).run("go");
  expect(model.requests[0]?.tools).toEqual([{ name: "search", description: "does search", inputSchema: OBJECT }]);
});

test("a call goes to the server under its own name, whatever the prefix", async () => {
  const server = client([[described("search")]], { content: [{ type: "text", text: "found" }] });
  const model = scriptedModel([{ toolCalls: [{ name: "docs_search", arguments: { q: "x" } }] }, "ready"]);
  await agentOf({ model, tools: await mcpTools(server, { prefix: "docs_" }) }).run("go");
  expect(server.calls).toEqual([{ name: "search", arguments: { q: "x" } }]);
});

test("tools of two servers with the same name are refused without a prefix and work with one", async () => {
  const [one, two] = [client([[described("search")]]), client([[described("search")]])];
  const both = [...(await mcpTools(one)), ...(await mcpTools(two))];
  expect(() => agentOf({ model: scriptedModel([]), tools: both })).toThrow(/two tools are named "search"/);
  const apart = [...(await mcpTools(one, { prefix: "a_" })), ...(await mcpTools(two, { prefix: "b_" }))];
  expect(apart.map(({ name }) => name)).toEqual(["a_search", "b_search"]);
});

describe("what the server answers", () => {
  test("text is handed on, other parts are named", async () => {
    const content = [{ type: "text", text: "one" }, { type: "image" }, { type: "text", text: "two" }];
    expect(await resultOf({ content })).toEqual({ text: "one\n[image]\ntwo", isError: false });
  });

  test("structured content counts where there is no text", async () => {
    expect(await resultOf({ content: [], structuredContent: { n: 1 } })).toEqual({ text: '{"n":1}', isError: false });
  });

  test("isError is a failed call with the server's words", async () => {
    expect(await resultOf({ isError: true, content: [{ type: "text", text: "no such index" }] })).toEqual({
      text: "no such index",
      isError: true,
    });
    expect(await resultOf({ isError: true })).toMatchObject({ isError: true });
  });

  test.each([undefined, null, "text", 5])(
    "%s, which is no answer, is a call that went wrong or said nothing",
    async (answer) => {
      expect(typeof (await resultOf(answer)).text).toBe("string");
    },
  );
});

describe("what a call may do", () => {
  const hinted = [
    described("reads", { readOnlyHint: true }),
    described("repeats", { idempotentHint: true }),
    described("acts"),
  ];

  test("is at most once, whatever the server says of itself", async () => {
    expect((await mcpTools(client([hinted]))).map(({ effect }) => effect)).toEqual(Array(3).fill("atMostOnce"));
  });

  test("is what the server says where it is trusted", async () => {
    const tools = await mcpTools(client([hinted]), { effect: "trust" });
    expect(tools.map(({ effect }) => effect)).toEqual(["pure", "idempotent", "atMostOnce"]);
  });

  test("is what the user says, for all or for each", async () => {
    expect((await mcpTools(client([hinted]), { effect: "pure" })).map(({ effect }) => effect)).toEqual(
      Array(3).fill("pure"),
    );
    const chosen = await mcpTools(client([hinted]), {
      effect: ({ name }) => (name === "acts" ? "idempotent" : "pure"),
    });
    expect(chosen.map(({ effect }) => effect)).toEqual(["pure", "pure", "idempotent"]);
  });
});

test("a call that hangs ends after its time", async () => {
  const server = { ...client([[described("search")]]), callTool: () => new Promise<never>(() => undefined) };
  const model = scriptedModel([{ toolCalls: [{ name: "search" }] }, "ready"]);
  await agentOf({ model, tools: await mcpTools(server, { timeoutMs: 5 }) }).run("go");
  expect(textOf(model.requests[1]!.messages.at(-1)!)).toMatch(/5 ms/);
});

describe("when the tools changed since the thread's last run,", () => {
  async function warnings(before: readonly McpTool[], after: readonly McpTool[]): Promise<readonly string[]> {
    const store = new MemoryStore();
    const run = async (tools: readonly McpTool[]) =>
      eventsOf(
        agentOf({
          model: scriptedModel(["hi"]),
          checkpointer: store.open(),
          tools: await mcpTools(client([tools])),
        }).run("hello", { threadId: "t" }),
      );
    await run(before);
    const second = ofType(await run(after), "warning").map(({ error }) => (error as Error).message);
    expect(ofType(await run(after), "warning"), "once told, it is known").toEqual([]);
    return second;
  }

  test("the run says which were added, removed and changed", async () => {
    const changed = { ...described("b"), description: "does something else now" };
    const [warning, ...others] = await warnings([described("a"), described("b")], [changed, described("c")]);
    expect(others).toEqual([]);
    expect(warning).toContain("removed: a; added: c; changed: b");
  });

  test("and not when they are the same, in whatever order", async () => {
    expect(await warnings([described("a"), described("b")], [described("b"), described("a")])).toEqual([]);
  });
});

test("a call waits for a person's approval where the program says so, for all tools or for each call", async () => {
  const server = client([[described("search"), described("delete")]], { content: [{ type: "text", text: "found" }] });
  const asks = async (needsApproval: NonNullable<McpToolsOptions["needsApproval"]>, name: string) => {
    const model = scriptedModel([{ toolCalls: [{ name, arguments: { q: "x" } }] }, "ready"]);
    const tools = await mcpTools(server, { needsApproval });
    return (await agentOf({ model, tools, checkpointer: new MemoryStore().open() }).run("go", { threadId: "t" }))
      .stopReason;
  };
  expect(await asks(true, "search")).toBe("pending");
  const onlyDeletes = (tool: McpTool, input: unknown): boolean =>
    tool.name === "delete" && (input as { q: string }).q === "x";
  expect(await asks(onlyDeletes, "search")).toBe("complete");
  expect(await asks(onlyDeletes, "delete")).toBe("pending");
});
