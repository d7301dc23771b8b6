import type { Found } from "../../state/people/erasing.ts";
import { rowsFor } from "../../state/people/field-rule.ts";
import { GRAPH_METADATA } from "../../state/people/personal-fields.ts";
import { subjectsIn } from "../../state/people/subjects.ts";
import type { JsonObject, JsonValue } from "../../state/values/tags.ts";
import { GraphSweep, type SweepContext } from "../erasing/graph-sweep.ts";
import { textOf } from "../values/value-tree.ts";

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
