import type { IndexConfig } from "@langchain/langgraph-checkpoint";
import { invalid } from "../../driver/options.ts";
import { StateError } from "../../errors.ts";
import { untilAborted, withDeadline } from "../../internal/time.ts";

/**
 * The number of texts that share one time limit for embedding; more texts get
 * proportionally more time.
 */
const TEXTS_AT_A_TIME = 96;

/** The embeddings of a graph's `index`. LangChain's take no signal, and one that never answers must not hold a node for ever. */
export class GraphEmbeddings {
  readonly #index: IndexConfig;
  readonly #timeoutMs: number;

  constructor(index: IndexConfig, timeoutMs: number) {
    this.#index = index;
    this.#timeoutMs = timeoutMs;
  }

  async ofQuery(query: string): Promise<readonly number[]> {
    return this.#ofLength(await this.#answer(1, () => this.#index.embeddings.embedQuery(query)));
  }

  /** One question for all of them. */
  async ofTexts(texts: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const vectors = await this.#answer(texts.length, () => this.#index.embeddings.embedDocuments([...texts]));
    return new Map(texts.map((text, at) => [text, this.#ofLength(vectors[at])]));
  }

  async #answer<T>(texts: number, ask: () => Promise<T>): Promise<T> {
    const ms = this.#timeoutMs * Math.ceil(texts / TEXTS_AT_A_TIME);
    return withDeadline(ms, undefined, async (signal) => {
      try {
        return await untilAborted(ask(), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
        throw new StateError("MODEL_FAILED", `the embeddings gave no answer within ${ms} ms`, { cause: error });
      }
    });
  }

  #ofLength(vector: readonly number[] | undefined): readonly number[] {
    const { dims } = this.#index;
    if (vector?.length === dims) return vector;
    throw invalid(`index.dims is ${dims}, and the embeddings made a vector of ${vector?.length ?? 0} numbers`);
  }
}

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
