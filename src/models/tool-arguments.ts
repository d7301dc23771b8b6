import { withoutFence } from "./markdown-fence.ts";

export type ParsedArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  /** `reason` is written for the model, which may try again. */
  | { readonly ok: false; readonly reason: string };

/**
 * The arguments a model wrote for a tool. Forgives what has one meaning only:
 * nothing at all for "no arguments", a Markdown fence around the object, an
 * object encoded twice. Text that breaks off is never completed: a tool must not
 * run with half of what the model meant.
 */
export function parseToolArguments(text: string): ParsedArguments {
  const bare = withoutFence(text.trim());
  if (bare === "") return { ok: true, value: {} };
  try {
    const value: unknown = JSON.parse(bare);
    const inner: unknown = typeof value === "string" ? JSON.parse(value) : value;
    if (isObject(inner)) return { ok: true, value: inner };
    return { ok: false, reason: `the arguments must be a JSON object, not ${kindOf(inner)}` };
  } catch {
    return { ok: false, reason: "the arguments are not valid JSON" };
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
