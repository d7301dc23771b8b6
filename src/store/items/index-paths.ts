import { invalid } from "../../driver/options.ts";

/** One step into a value: a member, one of a list's items (from its end where negative), or all of them. */
type Step = string | number | "*items";

const PATH = /^(?:[^.[\]]+|\[(?:\*|-?\d+)\])(?:\.[^.[\]]+|\[(?:\*|-?\d+)\])*$/;
const STEPS = /([^.[\]]+)|\[(\*|-?\d+)\]/g;

/** The texts that paths such as `title`, `author.name`, `notes[*].text`, `tags[-1]` and `$` (all) lead to. */
export function textsAt(value: unknown, paths: readonly string[]): string {
  return paths
    .flatMap((path) => (path === "$" ? [value] : stepsOf(path).reduce(into, [value])))
    .map(textsIn)
    .filter((text) => text !== "")
    .join("\n");
}

export function assertPaths(paths: readonly unknown[]): asserts paths is readonly string[] {
  for (const path of paths) {
    if (typeof path !== "string") throw invalid('index: a path is a text, such as "notes[*].text"');
    if (path !== "$") stepsOf(path);
  }
}

function stepsOf(path: string): readonly Step[] {
  if (!PATH.test(path)) {
    throw invalid(`index: ${JSON.stringify(path.slice(0, 80))} is no path; write "title", "notes[*].text" or "$"`);
  }
  return [...path.matchAll(STEPS)].map(([, name, item]) => {
    if (name !== undefined) return name;
    return item === "*" ? "*items" : Number(item);
  });
}

function into(found: readonly unknown[], step: Step): readonly unknown[] {
  return found.flatMap((value) => {
    if (step === "*items") return Array.isArray(value) ? value : [];
    if (typeof step === "number") return Array.isArray(value) ? [value.at(step)] : [];
    const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, step);
    return isObject ? [(value as Record<string, unknown>)[step]] : [];
  });
}

/** Every text and number in a value. */
export function textsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof Date) return "";
  const inside = value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value);
  return inside
    .map(textsIn)
    .filter((text) => text !== "")
    .join("\n");
}
