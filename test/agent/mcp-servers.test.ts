import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { experimental_createMCPClient as createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, describe, expect, test } from "vitest";
import { aiSdkTools } from "../../src/agent/ai-sdk-tools.ts";
import { type McpClient, mcpTools } from "../../src/agent/mcp-tools.ts";
import type { Tool } from "../../src/agent/tool.ts";
import type { ToolMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

/** The MCP project's own server that has a bit of everything, from npm. */
const SERVER = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
const endings: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of endings) await end();
});

async function overStdio(): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [SERVER, "stdio"], stderr: "ignore" }),
  );
  endings.push(() => client.close());
  return client;
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });

async function overHttp(): Promise<{ client: Client; server: ChildProcess }> {
  const port = await freePort();
  const server = spawn(process.execPath, [SERVER, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  endings.push(() => server.kill("SIGKILL"));
  await new Promise<void>((resolve) =>
    server.stderr?.on("data", (text) => /listening/.test(String(text)) && resolve()),
  );
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`));
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  endings.push(() => client.close().catch(() => undefined));
  return { client, server };
}

/** One call of one tool, as an agent makes it. */
function called(tools: readonly Tool[], name: string, input: object = {}, signal?: AbortSignal) {
  const store = new MemoryStore();
  const model = scriptedModel([{ toolCalls: [{ name, arguments: input }] }, "ready"]);
  const agent = agentOf({ model, tools, checkpointer: store.open() });
  const run = agent.run("go", { threadId: "t", ...(signal !== undefined && { signal }) });
  const result = async (): Promise<ToolMessage> => {
    await run;
    return (await store.state()).messages[2] as ToolMessage;
  };
  return { run, store, result };
}

describe("19.7: a real MCP server", () => {
  test.each(["stdio", "HTTP"])("19.7: over %s: text, pictures, resources and values are kept", async (way) => {
    const client = way === "stdio" ? await overStdio() : (await overHttp()).client;
    const tools = await mcpTools(client as McpClient);
    expect((await called(tools, "get-sum", { a: 2, b: 3 }).result()).content).toContain("5");
    const picture = await called(tools, "get-tiny-image").result();
    const file = (picture.content as readonly { type: string }[]).find(({ type }) => type === "file");
    expect(file).toMatchObject({ type: "file", mediaType: "image/png", data: expect.any(Uint8Array) });
    const value = await called(tools, "get-structured-content", { location: "New York" }).result();
    expect(value.metadata).toMatchObject({ structuredContent: { temperature: expect.any(Number) } });
    const resource = await called(tools, "get-resource-reference", { resourceType: "Text", resourceId: 1 }).result();
    expect(JSON.stringify(resource.content)).toContain("demo://resource");
  });

  test("19.7: its progress is shown", async () => {
    const tools = await mcpTools((await overStdio()) as McpClient);
    const { run } = called(tools, "trigger-long-running-operation", { duration: 0.2, steps: 2 });
    const progress = ofType(await eventsOf(run), "tool-progress").map((event) => event.progress);
    expect(progress).toContainEqual(expect.objectContaining({ progress: 1, total: 2 }));
  });

  test("19.7: a call that is cancelled is cancelled at the server", async () => {
    const client = await overStdio();
    const sent: unknown[] = [];
    const { transport } = client;
    const send = transport!.send.bind(transport);
    transport!.send = (message, options) => {
      sent.push(message);
      return send(message, options);
    };
    const stop = new AbortController();
    const tools = await mcpTools(client as McpClient);
    const { run } = called(tools, "trigger-long-running-operation", { duration: 60, steps: 60 }, stop.signal);
    for await (const event of run) if (event.type === "tool-progress" || event.type === "tool-start") stop.abort();
    expect((await run).stopReason).toBe("cancelled");
    expect(sent).toContainEqual(expect.objectContaining({ method: "notifications/cancelled" }));
  });

  test.each(["stdio", "HTTP"])(
    "19.7: over %s: a connection that is lost in a call leaves its outcome unknown",
    async (way) => {
      const { client, kill } = await (async () => {
        if (way === "HTTP") {
          const { client: http, server } = await overHttp();
          return { client: http, kill: () => server.kill("SIGKILL") };
        }
        const stdio = await overStdio();
        const { pid } = stdio.transport as StdioClientTransport;
        return { client: stdio, kill: () => process.kill(pid!, "SIGKILL") };
      })();
      const tools = await mcpTools(client as McpClient, { timeoutMs: 10_000 });
      const { run, store } = called(tools, "trigger-long-running-operation", { duration: 8, steps: 80 });
      let isKilled = false;
      for await (const event of run) {
        if (event.type !== "tool-progress" || isKilled) continue;
        isKilled = true;
        kill();
      }
      expect(await store.statuses()).toEqual(["unknown"]);
    },
  );

  test("19.7: a call that was never sent is a failure and nothing worse", async () => {
    const client = await overStdio();
    const tools = await mcpTools(client as McpClient);
    await client.close();
    const { run, store } = called(tools, "echo", { message: "hi" });
    await run;
    expect(await store.statuses()).toEqual(["failed"]);
  });

  test("19.7: the AI SDK's MCP client gives its tools as a record", async () => {
    const transport = new StdioMCPTransport({ command: process.execPath, args: [SERVER, "stdio"], stderr: "ignore" });
    const client = await createMCPClient({ transport });
    endings.push(() => client.close());
    const tools = aiSdkTools((await client.tools()) as Parameters<typeof aiSdkTools>[0], { effect: { echo: "pure" } });
    const message = await called(tools, "echo", { message: "hello there" }).result();
    expect(JSON.stringify(message.content)).toContain("hello there");
  });
});
