import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { experimental_createMCPClient as createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioMCPTransport } from "@ai-sdk/mcp/mcp-stdio";
import {
  Client as SecondClient,
  StreamableHTTPClientTransport as SecondHttpTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as SecondStdioTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, describe, expect, test } from "vitest";
import { aiSdkTools } from "../../src/adapters/ai-sdk/ai-sdk-tools.ts";
import { type McpClient, mcpTools } from "../../src/adapters/mcp/mcp-tools.ts";
import type { Tool } from "../../src/agent/tool-call/tool.ts";
import type { ToolMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf, eventsOf, ofType } from "../agent/agent-of.ts";
import { MemoryStore } from "../agent/stored-thread.ts";
import { freePort } from "../services/server-process.ts";

/** The MCP project's own server that has a bit of everything, from npm. */
const SERVER = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
const endings: (() => unknown)[] = [];
afterAll(async () => {
  for (const end of endings) await end();
});

/** A connected client of either generation of the SDK. */
interface Connected {
  readonly client: McpClient;
  readonly transport: { send(message: unknown, options?: unknown): Promise<void> };
  /** Ends the server's process. */
  kill(): void;
  close(): Promise<void>;
}

/** How one generation of the SDK is used. */
interface Generation {
  readonly name: string;
  stdio(command: string, args: string[]): Promise<Omit<Connected, "kill"> & { readonly pid: number | null }>;
  http(url: URL): Promise<Omit<Connected, "kill">>;
}

const ME = { name: "test", version: "1" };

const GENERATIONS: readonly Generation[] = [
  {
    name: "SDK v1",
    stdio: async (command, args) => {
      const client = new Client(ME);
      const transport = new StdioClientTransport({ command, args, stderr: "ignore" });
      await client.connect(transport);
      const sends = transport as unknown as Connected["transport"];
      return { client: client as McpClient, transport: sends, pid: transport.pid, close: () => client.close() };
    },
    http: async (url) => {
      const client = new Client(ME);
      const transport = new StreamableHTTPClientTransport(url);
      await client.connect(transport as Parameters<Client["connect"]>[0]);
      const sends = transport as unknown as Connected["transport"];
      return { client: client as McpClient, transport: sends, close: () => client.close() };
    },
  },
  {
    name: "SDK v2",
    stdio: async (command, args) => {
      const client = new SecondClient(ME);
      const transport = new SecondStdioTransport({ command, args, stderr: "ignore" });
      await client.connect(transport);
      const sends = transport as unknown as Connected["transport"];
      return { client: client as McpClient, transport: sends, pid: transport.pid, close: () => client.close() };
    },
    http: async (url) => {
      const client = new SecondClient(ME);
      const transport = new SecondHttpTransport(url);
      await client.connect(transport);
      const sends = transport as unknown as Connected["transport"];
      return { client: client as McpClient, transport: sends, close: () => client.close() };
    },
  },
];

async function overStdio(generation: Generation): Promise<Connected> {
  const { pid, ...connected } = await generation.stdio(process.execPath, [SERVER, "stdio"]);
  endings.push(() => connected.close());
  return { ...connected, kill: () => void process.kill(pid ?? 0, "SIGKILL") };
}

async function overHttp(generation: Generation): Promise<Connected> {
  const port = await freePort();
  const server: ChildProcess = spawn(process.execPath, [SERVER, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  endings.push(() => server.kill("SIGKILL"));
  await new Promise<void>((resolve) =>
    server.stderr?.on("data", (text) => /listening/.test(String(text)) && resolve()),
  );
  const connected = await generation.http(new URL(`http://127.0.0.1:${port}/mcp`));
  endings.push(() => connected.close().catch(() => undefined));
  return { ...connected, kill: () => void server.kill("SIGKILL") };
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

describe.each(GENERATIONS)("a real MCP server, $name", (generation) => {
  const over = (way: string): Promise<Connected> => (way === "HTTP" ? overHttp(generation) : overStdio(generation));

  test.each(["stdio", "HTTP"])("over %s: text, pictures, resources and values are kept", async (way) => {
    const tools = await mcpTools((await over(way)).client);
    expect((await called(tools, "get-sum", { a: 2, b: 3 }).result()).content).toContain("5");
    const picture = await called(tools, "get-tiny-image").result();
    const file = (picture.content as readonly { type: string }[]).find(({ type }) => type === "file");
    expect(file).toMatchObject({ type: "file", mediaType: "image/png", data: expect.any(Uint8Array) });
    const value = await called(tools, "get-structured-content", { location: "New York" }).result();
    expect(value.metadata).toMatchObject({ structuredContent: { temperature: expect.any(Number) } });
    const resource = await called(tools, "get-resource-reference", { resourceType: "Text", resourceId: 1 }).result();
    expect(JSON.stringify(resource.content)).toContain("demo://resource");
  });

  test("its progress is shown", async () => {
    const tools = await mcpTools((await over("stdio")).client);
    const { run } = called(tools, "trigger-long-running-operation", { duration: 0.2, steps: 2 });
    const progress = ofType(await eventsOf(run), "tool-progress").map((event) => event.progress);
    expect(progress).toContainEqual(expect.objectContaining({ progress: 1, total: 2 }));
  });

  test("a call that is cancelled is cancelled at the server", async () => {
    const { client, transport } = await over("stdio");
    const sent: unknown[] = [];
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      sent.push(message);
      return send(message, options);
    };
    const stop = new AbortController();
    const tools = await mcpTools(client);
    const { run } = called(tools, "trigger-long-running-operation", { duration: 60, steps: 600 }, stop.signal);
    for await (const event of run) if (event.type === "tool-progress") stop.abort();
    expect((await run).stopReason).toBe("cancelled");
    expect(sent).toContainEqual(expect.objectContaining({ method: "notifications/cancelled" }));
  });

  test.each(["stdio", "HTTP"])(
    "over %s: a connection that is lost in a call leaves its outcome unknown",
    async (way) => {
      const { client, kill } = await over(way);
      const tools = await mcpTools(client, { timeoutMs: 4_000 });
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

  test("a call that was never sent is a failure and nothing worse", async () => {
    const { client, close } = await over("stdio");
    const tools = await mcpTools(client);
    await close();
    const { run, store } = called(tools, "echo", { message: "hi" });
    await run;
    expect(await store.statuses()).toEqual(["failed"]);
  });
});

describe("another client of a real MCP server", () => {
  test("the AI SDK's MCP client gives its tools as a record", async () => {
    const transport = new StdioMCPTransport({ command: process.execPath, args: [SERVER, "stdio"], stderr: "ignore" });
    const client = await createMCPClient({ transport });
    endings.push(() => client.close());
    const tools = aiSdkTools((await client.tools()) as Parameters<typeof aiSdkTools>[0], { effect: { echo: "pure" } });
    const message = await called(tools, "echo", { message: "hello there" }).result();
    expect(JSON.stringify(message.content)).toContain("hello there");
  });
});
