import { createHash } from "node:crypto";
import type { AgentState } from "../../state/agent-state.ts";
import { canonicalJson } from "../../state/values/codec.ts";
import type { Tool } from "./tool.ts";

/** Under which the state keeps what tools its last run had. */
const KEY = "holdfast.tools";

type ToolHashes = Readonly<Record<string, string>>;

/** Keeps the tools' hashes in the state; unchanged tools cost nothing. */
export function withToolList(state: AgentState, tools: readonly Tool[]): AgentState {
  const hashes = hashesOf(tools);
  const known = state.providerState[KEY];
  if (known === undefined && tools.length === 0) return state;
  return canonicalJson(known) === canonicalJson(hashes) ? state : state.withProviderState({ [KEY]: hashes });
}

/** What a thread that is resumed should know: the tools are not the ones its last run had. */
export function changedTools(state: AgentState, tools: readonly Tool[]): string | undefined {
  const known = state.providerState[KEY] as ToolHashes | undefined;
  if (known === undefined) return undefined;
  const now = hashesOf(tools);
  const gone = Object.keys(known).filter((name) => !Object.hasOwn(now, name));
  const added = Object.keys(now).filter((name) => !Object.hasOwn(known, name));
  const changed = Object.keys(now).filter((name) => Object.hasOwn(known, name) && known[name] !== now[name]);
  const parts = [
    ["removed", gone],
    ["added", added],
    ["changed", changed],
  ] as const;
  const said = parts.filter(([, names]) => names.length > 0).map(([what, names]) => `${what}: ${names.join(", ")}`);
  return said.length === 0 ? undefined : `the tools are not those of the thread's last run (${said.join("; ")})`;
}

const hashesOf = (tools: readonly Tool[]): ToolHashes =>
  Object.fromEntries(
    tools.map(({ name, description = "", schema, effect }) => [
      name,
      createHash("sha256")
        .update(canonicalJson([name, description, schema.jsonSchema, effect]))
        .digest("hex")
        .slice(0, 16),
    ]),
  );
