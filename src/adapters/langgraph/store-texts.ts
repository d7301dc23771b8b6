import { invalid } from "../../driver/options.ts";

/** One step into a value: a member, an item of a list (from its end where negative), all of them, or several members. */
type Step =
  | { readonly kind: "member"; readonly name: string }
  | { readonly kind: "item"; readonly at: number }
  | { readonly kind: "all" }
  | { readonly kind: "members"; readonly paths: readonly (readonly Step[])[] };

const STEP = /([^.[\]{}]+)|\[(\*|-?\d+)\]|\{([^{}]*)\}/y;

/**
 * The texts that LangGraph indexes of a value: at `title`, `author.name`,
 * `chapters[*].content`, `authors[-1]`, `{title,summary}`, `*`, or of the whole
 * value at `$`. Lists and objects are written as JSON, as LangGraph does.
 */
export function textsToIndex(value: unknown, fields: readonly string[]): readonly string[] {
  return fields.flatMap((path) =>
    path === "$" || path === "" ? written(value) : follow([value], stepsOf(path)).flatMap(written),
  );
}

function stepsOf(path: string): readonly Step[] {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < path.length) {
    if (path[STEP.lastIndex] === ".") STEP.lastIndex++;
    const found = STEP.exec(path);
    if (found === null) {
      throw invalid(
        `index: ${JSON.stringify(path.slice(0, 80))} is no path; write "title", "chapters[*].content" or "$"`,
      );
    }
    const [, name, item, members] = found;
    if (members !== undefined) {
      steps.push({ kind: "members", paths: members.split(",").map((each) => stepsOf(each.trim())) });
    } else if (item === "*" || name === "*") steps.push({ kind: "all" });
    else if (item !== undefined) steps.push({ kind: "item", at: Number(item) });
    else steps.push({ kind: "member", name: name ?? "" });
  }
  return steps;
}

const follow = (values: readonly unknown[], steps: readonly Step[]): readonly unknown[] =>
  steps.reduce<readonly unknown[]>((found, step) => found.flatMap((value) => into(value, step)), values);

function into(value: unknown, step: Step): readonly unknown[] {
  switch (step.kind) {
    case "all":
      return typeof value === "object" && value !== null ? Object.values(value) : [];
    case "item":
      return Array.isArray(value) ? [value.at(step.at)] : [];
    case "members":
      return step.paths.flatMap((steps) => follow([value], steps));
    default: {
      const isMember = typeof value === "object" && value !== null && Object.hasOwn(value, step.name);
      return isMember ? [(value as Record<string, unknown>)[step.name]] : [];
    }
  }
}

function written(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return [String(value)];
  if (value === undefined || value === null) return [];
  const json = JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each), 2);
  return json === undefined ? [] : [json];
}
