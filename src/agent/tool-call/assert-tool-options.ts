import { StateError } from "../../errors.ts";
import {
  assertKnownOptions,
  described,
  nearestName,
  type OptionKinds,
  unknownOption,
} from "../../internal/known-options.ts";
import type { AnySchema } from "../../models/schema.ts";
import type { ToolOptions } from "./tool.ts";

const OPTIONS: OptionKinds<ToolOptions<AnySchema>> = {
  name: "string",
  description: "string",
  // arktype's schemas are functions.
  inputSchema: ["object", "function"],
  execute: "function",
  effect: "string",
  reuseResult: "boolean",
  verify: "function",
  needsApproval: ["boolean", "function"],
  timeoutMs: "number",
  retry: "object",
  terminal: "boolean",
};

/** What other libraries call it. */
const ELSEWHERE: Readonly<Record<string, keyof typeof OPTIONS>> = {
  parameters: "inputSchema",
  schema: "inputSchema",
  input_schema: "inputSchema",
  args: "inputSchema",
  handler: "execute",
  run: "execute",
  func: "execute",
  invoke: "execute",
  call: "execute",
};

/** What tools of other libraries carry and what means nothing here. Everything else may be meant for us. */
const FOREIGN: ReadonlySet<string> = new Set([
  ...Object.keys(ELSEWHERE),
  "type",
  "id",
  "title",
  "strict",
  "outputSchema",
  "inputExamples",
  "providerOptions",
  "toModelOutput",
  "onInputStart",
  "onInputDelta",
  "onInputAvailable",
  "annotations",
  "_meta",
]);

/**
 * A tool of another library may bring members of its own, which mean nothing
 * here; but a misspelt `needsApproval` must not let a tool run unasked, and what
 * another library calls its schema must not be lost in silence.
 */
export function assertToolOptions(options: unknown): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    const name = typeof options === "function" ? options.name : "";
    const example = name === "" ? 'name: "…", execute: …' : `name: ${JSON.stringify(name)}, execute: ${name}`;
    throw new TypeError(`tool() takes an options object, not ${described(options)}. Write tool({ ${example} })`);
  }
  const given = options as Readonly<Record<string, unknown>>;
  const where = typeof given["name"] === "string" ? `tool ${JSON.stringify(given["name"])}` : "tool()";
  const names = Object.keys(OPTIONS);
  for (const name of Object.keys(given).filter((option) => !names.includes(option))) {
    const elsewhere = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
    const meant = elsewhere === undefined ? nearestName(name, names) : elsewhere;
    // Both: the other library's stays what it is there.
    if (FOREIGN.has(name) && (meant === undefined || given[meant] !== undefined)) continue;
    if (meant === undefined) throw unknownOption(where, name, names);
    throw new StateError(
      "INVALID_ARGUMENT",
      `${where} has no option ${JSON.stringify(name)}; did you mean ${JSON.stringify(meant)}?`,
    );
  }
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)));
  assertKnownOptions(where, own, OPTIONS);
}
