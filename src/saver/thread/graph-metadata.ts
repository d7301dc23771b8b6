import type { Found } from "../../state/people/erasing.ts";
import { subjectsIn } from "../../state/people/subjects.ts";
import { GraphSweep, type SweepContext } from "../erasing/graph-sweep.ts";
import { grown, type Json, textOf } from "../values/value-tree.ts";

export interface MetadataRule {
  readonly matches: (subject: string) => boolean;
  readonly context: SweepContext;
  /** Leaves the thread's own subjects, so that an interrupted sweep still knows them. */
  readonly keepsSubject: boolean;
}

/** What LangGraph notes in the metadata of a checkpoint in order to find its way. Every other name may be about somebody. */
const CONTROL: ReadonlySet<string> = new Set([
  "source",
  "step",
  "parents",
  "run_id",
  "thread_id",
  "task_id",
  "assistant_id",
  "graph_id",
  "counters_since_delta_snapshot",
  "checkpoint_id",
  "checkpoint_ns",
  "langgraph_step",
  "langgraph_node",
  "langgraph_triggers",
  "langgraph_path",
  "langgraph_checkpoint_ns",
  "langgraph_task_idx",
  "langgraph_request_id",
  "langgraph_version",
]);

/** The metadata of a graph's checkpoint, as text, without what is about the person. */
export function sweepGraphMetadata(
  text: string | undefined,
  { matches, context, keepsSubject }: MetadataRule,
): { readonly text: string | undefined; readonly found: readonly Found[] } {
  if (text === undefined) return { text, found: [] };
  const found: Found[] = [];
  let isChanged = false;
  const members = Object.entries(JSON.parse(text) as { readonly [name: string]: Json }).map(([name, json]) => {
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
    const tree = grown(json);
    const next = sweep.sweep(tree, CONTROL.has(name) ? "plain" : context);
    if (next === tree) return [name, before] as const;
    for (const each of sweep.found) found.push({ ...each, path });
    isChanged = true;
    return [name, textOf(next)] as const;
  });
  if (!isChanged) return { text, found };
  return { text: `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`, found };
}
