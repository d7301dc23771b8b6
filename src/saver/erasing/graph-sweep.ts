import type { Found } from "../../state/people/erasing.ts";
import { rowsFor } from "../../state/people/field-rule.ts";
import { GRAPH_METADATA } from "../../state/people/personal-fields.ts";
import { ERASED, erasedValue, subjectsIn } from "../../state/people/subjects.ts";
import {
  holdsOf,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  mapJson,
  mapParts,
  TAG,
} from "../../state/values/tags.ts";
import {
  controlNames,
  emptied,
  emptiedTag,
  hasMessageShape,
  isEnvelope,
  langChainMessage,
  plainMessage,
} from "../values/graph-placeholders.ts";
import { listIn, textOf, writtenOut } from "../values/pool.ts";

/**
 * What a text of a graph is judged by. In "plain" only what says itself that it is
 * about the person goes. In "own" the thread is about the person, so everything
 * goes that does not say otherwise.
 */
export type SweepContext = "plain" | "own";

export interface GraphSweepRule {
  readonly matches: (subject: string) => boolean;
  /** The elements of a list, for values that are told. */
  readonly listOf: (node: number) => readonly JsonValue[];
  /** What a list in this context is written as instead: where its elements must not be changed in place. */
  readonly inline?: (node: number) => JsonValue | undefined;
}

export interface FoundValue {
  readonly kind: "message" | "field";
  readonly value: unknown;
}

/** One text, swept. The tree is the very same where nothing in it was about the person. */
export class GraphSweep {
  readonly found: FoundValue[] = [];
  /** Lists that the swept text still refers to, and in which context. */
  readonly lists: (readonly [node: number, context: SweepContext])[] = [];
  /** Values of a user's own serialiser, which cannot be looked into. */
  opaque = 0;
  readonly #rule: GraphSweepRule;
  #isEmptied = false;

  constructor(rule: GraphSweepRule) {
    this.#rule = rule;
  }

  sweep(tree: JsonValue, context: SweepContext): JsonValue {
    const swept = this.#value(tree, context);
    if (!this.#isEmptied) return swept;
    // The whole text was about the person: it is told once, and not leaf by leaf.
    const kind = isMessage(tree) ? "message" : "field";
    this.found.splice(0, this.found.length, { kind, value: this.#told(tree) });
    return swept;
  }

  #value(tree: JsonValue, context: SweepContext): JsonValue {
    const list = listIn(tree);
    if (list !== undefined) {
      const inline = context === "own" ? this.#rule.inline?.(list) : undefined;
      if (inline !== undefined) return this.#value(inline, context);
      this.lists.push([list, context]);
      return tree;
    }
    if (isJsonObject(tree)) return Object.hasOwn(tree, TAG) ? this.#tagged(tree, context) : this.#object(tree, context);
    if (isJsonList(tree)) return mapJson(tree, (each) => this.#value(each, context));
    return context === "plain" ? tree : this.#leaf(tree);
  }

  #leaf(leaf: string | number | boolean | null): JsonValue {
    const next = emptied(leaf);
    this.#isEmptied ||= next !== leaf;
    return next;
  }

  #object(tree: JsonObject, context: SweepContext): JsonValue {
    const subjects = this.#attribution(tree);
    if (subjects !== undefined) {
      if (subjects.some(this.#rule.matches)) {
        this.found.push({ kind: "field", value: this.#told(tree["value"] ?? null) });
        return ERASED_VALUE;
      }
      return mapParts(tree, (each) => this.#value(each, "plain"));
    }
    if (!hasMessageShape(tree)) {
      const control = controlNames(tree);
      return mapParts(tree, (each, name) => (control.has(String(name)) ? each : this.#value(each, context)));
    }
    const told = this.#told(tree) as JsonObject;
    const { subjects: said, placeholder } = plainMessage(told);
    if (said === undefined ? context === "own" : said.some(this.#rule.matches)) {
      this.found.push({ kind: "message", value: told });
      return placeholder();
    }
    return mapParts(tree, (each) => this.#value(each, "plain"));
  }

  #tagged(tree: JsonObject, context: SweepContext): JsonValue {
    const { $: tag, v } = tree;
    if (v === undefined) return tree;
    switch (holdsOf(tag)) {
      case "value":
      case "members":
        return mapParts(tree, (each) => this.#value(each, context));
      case "json": {
        const next = this.#raw(v, context);
        return next === v ? tree : { ...tree, v: next };
      }
      case "opaque":
        this.opaque++;
        if (context === "plain") return tree;
        this.#isEmptied = true;
        return ERASED;
      default: {
        const next = context === "plain" ? undefined : emptiedTag(String(tag), v);
        if (next === undefined || JSON.stringify(next) === JSON.stringify(v)) return tree;
        this.#isEmptied = true;
        return { ...tree, v: next };
      }
    }
  }

  /** JSON of LangChain's own. */
  #raw(json: JsonValue, context: SweepContext): JsonValue {
    if (!isJsonObject(json)) {
      if (isJsonList(json)) return mapJson(json, (each) => this.#raw(each, context));
      return context === "plain" ? json : this.#leaf(json);
    }
    const subjects = this.#attribution(json);
    if (subjects?.some(this.#rule.matches)) {
      this.found.push({ kind: "field", value: json["value"] });
      return ERASED_VALUE;
    }
    if (subjects !== undefined) return mapJson(json, (each) => this.#raw(each, "plain"));
    if (!isEnvelope(json)) return mapJson(json, (each) => this.#raw(each, context));
    const message = langChainMessage(json);
    const said = message?.subjects;
    if (message !== undefined && (said === undefined ? context === "own" : said.some(this.#rule.matches))) {
      this.found.push({ kind: "message", value: json });
      return message.placeholder();
    }
    const inner = this.#raw(json.kwargs, message === undefined ? context : "plain");
    return inner === json.kwargs ? json : { ...json, kwargs: inner };
  }

  /** Who `attributed()` says that this is about; a long list of people lies in the pool. */
  #attribution(tree: JsonObject): readonly string[] | undefined {
    if (!Object.hasOwn(tree, SUBJECT) || !Object.hasOwn(tree, "value")) return undefined;
    return subjectsIn(this.#told(tree[SUBJECT] ?? null));
  }

  #told(tree: JsonValue): JsonValue {
    return writtenOut(tree, this.#rule.listOf);
  }
}

/** Plain, or behind a tag that only says how it is kept. */
function isMessage(tree: JsonValue): boolean {
  if (!isJsonObject(tree)) return false;
  const { v } = tree;
  if (holdsOf(tree[TAG]) !== "json" || v === undefined) return hasMessageShape(tree);
  return isEnvelope(v) && langChainMessage(v) !== undefined;
}

const SUBJECT = "holdfast:subject";
const ERASED_VALUE = erasedValue as unknown as JsonObject;

/** Whether a text can hold anything that says whom it is about. Most do not, and need not be parsed. */
export const saysWhom = (text: string): boolean => text.includes('subject"') || text.includes('"$":"serde"');

export interface MetadataRule {
  readonly matches: (subject: string) => boolean;
  readonly context: SweepContext;
  /** Leaves the thread's own subjects, so that an interrupted sweep still knows them. */
  readonly keepsSubject: boolean;
}

/** The metadata of a graph's checkpoint, as text, without what is about the person. */
export function sweepGraphMetadata(
  text: string | undefined,
  { matches, context, keepsSubject }: MetadataRule,
): { readonly text: string | undefined; readonly found: readonly Found[] } {
  if (text === undefined) return { text, found: [] };
  const found: Found[] = [];
  let isChanged = false;
  const members = Object.entries(JSON.parse(text) as JsonObject).map(([name, json]) => {
    const path = `metadata.${name}`;
    const before = JSON.stringify(json);
    if (name === "subject") {
      const subjects = subjectsIn(json);
      const kept = subjects.filter((each) => !matches(each));
      if (keepsSubject || kept.length === subjects.length) return [name, before] as const;
      found.push({ kind: "field", path, value: json });
      isChanged = true;
      return [name, JSON.stringify(kept)] as const;
    }
    const sweep = new GraphSweep({ matches, listOf: () => [] });
    const next = sweep.sweep(json, isControl(name, json) ? "plain" : context);
    if (next === json) return [name, before] as const;
    for (const each of sweep.found) found.push({ ...each, path });
    isChanged = true;
    return [name, textOf(next)] as const;
  });
  if (!isChanged) return { text, found };
  return { text: `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`, found };
}

function isControl(name: string, json: JsonValue): boolean {
  const row = rowsFor(GRAPH_METADATA, {})(name);
  return "kept" in row && row.is(json);
}
