import { ERASED, erasedValue, subjectsIn } from "../../state/people/subjects.ts";
import {
  controlNames,
  emptied,
  emptiedTag,
  hasMessageShape,
  isEnvelope,
  langChainMessage,
  plainMessage,
} from "../values/graph-placeholders.ts";
import {
  isJsonList,
  isTreeList,
  isTreeObject,
  type Json,
  ListReference,
  RawJson,
  type Tree,
  type TreeObject,
  writtenOut,
} from "../values/value-tree.ts";

/**
 * What a text of a graph is judged by. In "plain" only what says itself that it is
 * about the person goes. In "own" the thread is about the person, so everything
 * goes that does not say otherwise.
 */
export type SweepContext = "plain" | "own";

export interface GraphSweepRule {
  readonly matches: (subject: string) => boolean;
  /** The elements of a list, for values that are told. */
  readonly listOf: (node: number) => readonly Tree[];
  /** What a list in this context is written as instead: where its elements must not be changed in place. */
  readonly inline?: (node: number) => Tree | undefined;
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

  sweep(tree: Tree, context: SweepContext): Tree {
    const swept = this.#value(tree, context);
    if (!this.#isEmptied) return swept;
    // The whole text was about the person: it is told once, and not leaf by leaf.
    const kind = isTreeObject(tree) && isMessage(tree) ? "message" : "field";
    this.found.splice(0, this.found.length, { kind, value: this.#told(tree) });
    return swept;
  }

  #value(tree: Tree, context: SweepContext): Tree {
    if (tree instanceof ListReference) {
      const inline = context === "own" ? this.#rule.inline?.(tree.node) : undefined;
      if (inline !== undefined) return this.#value(inline, context);
      this.lists.push([tree.node, context]);
      return tree;
    }
    if (isTreeList(tree)) return mapped(tree, (each) => this.#value(each, context));
    if (isTreeObject(tree)) return this.#object(tree, context);
    if (context === "plain" || tree instanceof RawJson) return tree;
    return this.#leaf(tree);
  }

  #leaf(leaf: string | number | boolean | null): Tree & Json {
    const next = emptied(leaf);
    this.#isEmptied ||= next !== leaf;
    return next;
  }

  #object(tree: TreeObject, context: SweepContext): Tree {
    if (Object.hasOwn(tree, "$")) return this.#tagged(tree, context);
    const subjects = this.#attribution(tree);
    if (subjects !== undefined) {
      if (subjects.some(this.#rule.matches)) {
        this.found.push({ kind: "field", value: this.#told(tree["value"] ?? null) });
        return erasedValue as unknown as Tree;
      }
      return this.#members(tree, "plain");
    }
    if (!hasMessageShape(tree)) return this.#members(tree, context, controlNames(tree));
    const told = this.#told(tree) as { readonly [name: string]: Json };
    const { subjects: said, placeholder } = plainMessage(told);
    if (said === undefined ? context === "own" : said.some(this.#rule.matches)) {
      this.found.push({ kind: "message", value: told });
      return placeholder();
    }
    return this.#members(tree, "plain");
  }

  #tagged(tree: TreeObject, context: SweepContext): Tree {
    const { $: tag, v } = tree;
    if (v === undefined) return tree;
    if (!(v instanceof RawJson)) {
      const next = isTreeObject(v) ? this.#members(v, context) : this.#value(v, context);
      return next === v ? tree : { $: tag ?? null, v: next };
    }
    if (tag === "lc") {
      const next = this.#raw(v.value, context);
      return next === v.value ? tree : { $: tag, v: new RawJson(next) };
    }
    if (tag === "serde") {
      this.opaque++;
      if (context === "plain") return tree;
      this.#isEmptied = true;
      return ERASED;
    }
    const next = context === "plain" ? undefined : emptiedTag(String(tag), v.value);
    if (next === undefined || JSON.stringify(next) === JSON.stringify(v.value)) return tree;
    this.#isEmptied = true;
    return { $: tag ?? null, v: new RawJson(next) };
  }

  #members(tree: TreeObject, context: SweepContext, control: ReadonlySet<string> = NO_NAMES): TreeObject {
    return mappedMembers(tree, (each, name) => (control.has(name) ? each : this.#value(each, context)));
  }

  /** JSON of LangChain's own. */
  #raw(json: Json, context: SweepContext): Json {
    if (typeof json !== "object" || json === null) return context === "plain" ? json : this.#leaf(json);
    if (isJsonList(json)) return mapped(json, (each) => this.#raw(each, context));
    const subjects = this.#attribution(json as TreeObject);
    if (subjects?.some(this.#rule.matches)) {
      this.found.push({ kind: "field", value: json["value"] });
      return erasedValue as unknown as Json;
    }
    if (subjects !== undefined) return mappedMembers(json, (each) => this.#raw(each, "plain"));
    if (!isEnvelope(json)) return mappedMembers(json, (each) => this.#raw(each, context));
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
  #attribution(tree: TreeObject): readonly string[] | undefined {
    if (!Object.hasOwn(tree, SUBJECT) || !Object.hasOwn(tree, "value")) return undefined;
    const given = tree[SUBJECT] ?? null;
    return subjectsIn(given instanceof ListReference ? this.#told(given) : given);
  }

  #told(tree: Tree): Json {
    return writtenOut(tree, this.#rule.listOf);
  }
}

function isMessage(tree: TreeObject): boolean {
  const { v } = tree;
  if (!(v instanceof RawJson)) return hasMessageShape(tree);
  return isEnvelope(v.value) && langChainMessage(v.value) !== undefined;
}

const SUBJECT = "holdfast:subject";
const NO_NAMES: ReadonlySet<string> = new Set();

/** Whether a text can hold anything that says whom it is about. Most do not, and need not be parsed. */
export const saysWhom = (text: string): boolean => text.includes('subject"') || text.includes('"$":"serde"');

function mapped<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  const next = list.map(change);
  return next.every((item, index) => item === list[index]) ? list : next;
}

function mappedMembers<T extends { readonly [name: string]: unknown }>(
  members: T,
  change: (value: T[string], name: string) => T[string],
): T {
  const next = Object.entries(members).map(([name, value]) => [name, change(value as T[string], name)] as const);
  return next.every(([name, value]) => value === members[name]) ? members : (Object.fromEntries(next) as T);
}
