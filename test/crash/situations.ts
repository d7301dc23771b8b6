import { RETURNS } from "./life.ts";
import type { Scenario } from "./matrix.ts";
import { KINDS } from "./story.ts";

/** Every story with every way to come back to it; where the power is cut is left open. */
export const SITUATIONS: readonly Omit<Scenario, "cuts">[] = KINDS.flatMap((kind) =>
  ([0, 1, 3] as const)
    // Without a tool there is only one kind of story.
    .filter((tools) => tools > 0 || kind === "pure")
    .flatMap((tools) =>
      ([1, 2, "end"] as const).flatMap((every) => RETURNS.map((back) => ({ story: { kind, tools, every }, back }))),
    ),
);
