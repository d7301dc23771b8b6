import { StateError } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";
import type { Tool } from "./tool.ts";
import { READ_RESULT } from "./tool-result.ts";

/**
 * Refuses what is not a list of tools made by `tool()`, and says what to write
 * instead. A tool may have more members than ours: other libraries put their own
 * on it.
 */
export function assertTools(tools: unknown): asserts tools is readonly Tool[] {
  if (!Array.isArray(tools)) throw new TypeError(`Agent({ tools }) takes a list, not ${mistakenList(tools)}`);
  for (const [index, each] of tools.entries()) {
    if (!isTool(each)) throw new TypeError(`Agent({ tools }): tools[${index}] is ${mistakenTool(each)}`);
  }
  const names = tools.map(({ name }: Tool) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`Agent({ tools }): two tools are named ${JSON.stringify(twice)}`);
  if (names.includes(READ_RESULT)) {
    throw new TypeError(`Agent({ tools }): ${READ_RESULT} is the agent's own tool, for large results; rename yours`);
  }
}

/** Without a saved thread, a question is lost when its run ends, and the call could never run. */
export function assertAnswerable(tools: readonly Tool[], threadId: string | undefined, isSaving: boolean): void {
  if (threadId !== undefined && isSaving) return;
  const asking = tools.find(({ mayNeedApproval }) => mayNeedApproval === true);
  if (asking === undefined) return;
  const missing = threadId === undefined ? "a threadId" : "an agent with a checkpointer";
  throw new StateError(
    "INVALID_ARGUMENT",
    `the tool ${JSON.stringify(asking.name)} needs approval, which can only be given in a thread that is kept: this run needs ${missing}`,
  );
}

function isTool(value: unknown): value is Tool {
  if (typeof value !== "object" || value === null) return false;
  const { name, schema, execute, needsApproval } = value as Partial<Tool>;
  const isCallable = [schema?.check, execute, needsApproval].every((method) => typeof method === "function");
  return typeof name === "string" && isCallable;
}

function mistakenList(value: unknown): string {
  if (isPromise(value)) return "a promise. Write await before it, as in tools: await mcpTools(client)";
  if (isTool(value)) return `a single tool. Write tools: [${value.name}]`;
  if (typeof value !== "object" || value === null) return `${described(value)}. Write tools: [tool({ … })]`;
  if (Object.values(value).every(isTool)) return "an object of tools. Write tools: Object.values(…)";
  return 'an object. Write tools: [tool({ name: "…", … })]: each tool has its own name';
}

function mistakenTool(value: unknown): string {
  if (isPromise(value)) return "a promise. Write tools: [...(await mcpTools(client))]";
  if (Array.isArray(value)) return "a list. Put three dots before it: [...tools]";
  if (typeof value === "function") {
    const name = value.name || "…";
    return `a function. Write tool({ name: ${JSON.stringify(name)}, execute: ${name} })`;
  }
  if (typeof value !== "object" || value === null) return `${described(value)}. Make it with tool({ … })`;
  const { name, execute, inputSchema } = value as Readonly<Record<string, unknown>>;
  const called = typeof name === "string" ? `${JSON.stringify(name)}, which` : "an object that";
  if (typeof execute === "function") {
    const missing = typeof name === "string" ? "…" : 'name: "…", …';
    return `${called} was not made by tool(). Write tool({ ${missing} }) around it`;
  }
  if (inputSchema !== undefined) {
    return `${called} has no execute. For the tools of an MCP server write tools: await mcpTools(client); else tool({ …, execute })`;
  }
  return `${called} was not made by tool(). Write tool({ name: "…", inputSchema, execute })`;
}

const isPromise = (value: unknown): boolean =>
  typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
