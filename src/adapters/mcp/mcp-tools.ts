import { type Tool, type ToolEffect, tool } from "../../agent/tool-call/tool.ts";
import { StateError } from "../../errors.ts";
import { assertKnownOptions, described, type OptionKinds } from "../../internal/known-options.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import type { JsonSchema } from "../../models/model.ts";
import { asOutcome, mcpContent } from "./mcp-results.ts";

interface McpCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

interface McpCallOptions {
  signal?: AbortSignal;
  timeout?: number;
  onprogress?: (progress: { progress: number; total?: number | undefined; message?: string | undefined }) => void;
}

/** The part of a connected MCP client that is used; the clients of both SDK generations have it. */
export interface McpClient {
  listTools(parameters?: { readonly cursor?: string }): Promise<{
    readonly tools: readonly McpTool[];
    readonly nextCursor?: string | undefined;
  }>;
  callTool(call: McpCall, resultSchema?: undefined, options?: McpCallOptions): Promise<unknown>;
}

/** `@modelcontextprotocol/client`, where results have no schema of their own any longer and the options come second. */
interface SecondGeneration {
  callTool(call: McpCall, options: McpCallOptions): Promise<unknown>;
  getNegotiatedProtocolVersion(): unknown;
}

const isSecondGeneration = (client: object): client is SecondGeneration =>
  typeof (client as Partial<SecondGeneration>).getNegotiatedProtocolVersion === "function";

export interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
  readonly annotations?:
    | { readonly readOnlyHint?: boolean | undefined; readonly idempotentHint?: boolean | undefined }
    | undefined;
}

export interface McpToolsOptions {
  /** Put before each name, so that two servers can have a tool of the same name. @default "" */
  readonly prefix?: string;
  /**
   * What a call may do, by tool name. A server's own hints are not believed
   * unless you say "trust": they come from the server. @default "atMostOnce"
   */
  readonly effect?: ToolEffect | "trust" | ((tool: McpTool) => ToolEffect);
  /** Whether a person must approve a call before it is made: of every tool, or as the function decides. @default false */
  readonly needsApproval?: boolean | ((tool: McpTool, input: unknown) => boolean | Promise<boolean>);
  /** @default 60000 */
  readonly timeoutMs?: number;
}

/** Every tool of a connected MCP server, all pages of its list. */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<readonly Tool[]> {
  assertMcpArguments(client, options);
  const tools: Tool[] = [];
  const seen = new Set<string>();
  const names = new Set<string>();
  let cursor: string | undefined;
  do {
    const found = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...found.tools.map((described) => asTool(client, described, options, names)));
    if (found.nextCursor !== undefined && seen.has(found.nextCursor)) {
      throw new StateError("UNKNOWN", "the MCP server gives the same page of tools again and again");
    }
    cursor = found.nextCursor;
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  return tools;
}

const OPTIONS: OptionKinds<McpToolsOptions> = {
  prefix: "string",
  effect: ["string", "function"],
  needsApproval: ["boolean", "function"],
  timeoutMs: "number",
};

function assertMcpArguments(client: unknown, options: object): void {
  const { listTools, callTool } = (client ?? {}) as Partial<McpClient>;
  if (typeof listTools !== "function" || typeof callTool !== "function") {
    throw new TypeError(
      `mcpTools() takes a connected MCP client, with listTools() and callTool(), not ${described(client)}`,
    );
  }
  assertKnownOptions("mcpTools()", options, OPTIONS);
}

function asTool(
  client: McpClient,
  described: McpTool,
  { prefix = "", effect, needsApproval = false, timeoutMs = 60_000 }: McpToolsOptions,
  taken: Set<string>,
): Tool {
  const { name, description, inputSchema } = described;
  const called = acceptedName(`${prefix}${name}`, taken);
  taken.add(called);
  return tool({
    name: called,
    ...(description !== undefined && { description }),
    inputSchema,
    effect: effectOf(described, effect),
    needsApproval: typeof needsApproval === "function" ? (input) => needsApproval(described, input) : needsApproval,
    timeoutMs,
    execute: async (input, { signal, progress }) => {
      // Ours ends first, and cancels the call at the server.
      const options = { signal, timeout: timeoutMs + SERVER_GRACE_MS, onprogress: progress };
      const call = { name, arguments: input as Record<string, unknown> };
      const answered = isSecondGeneration(client)
        ? client.callTool(call, options)
        : client.callTool(call, undefined, options);
      return mcpContent(await answered.catch(asOutcome));
    },
  });
}

const SERVER_GRACE_MS = 5_000;
const LONGEST_NAME = 64;

/** Models accept letters, digits, underscores and hyphens; servers also use dots and slashes. The server is called by its own name. */
function acceptedName(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, "_");
  if (plain.length <= LONGEST_NAME && !taken.has(plain)) return plain;
  const mark = nodeCrypto().createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - mark.length - 1)}_${mark}`;
}

function effectOf(described: McpTool, effect: McpToolsOptions["effect"]): ToolEffect {
  if (typeof effect === "function") return effect(described);
  if (effect !== "trust") return effect ?? "atMostOnce";
  if (described.annotations?.readOnlyHint === true) return "pure";
  return described.annotations?.idempotentHint === true ? "idempotent" : "atMostOnce";
}
