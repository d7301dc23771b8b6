import { OpenOnce } from "../driver/open-once.ts";
import type { Extractor } from "./extractor.ts";

/** The patterns are loaded with the first conversation. */
const statements = new OpenOnce(() => import("./plain-statements.ts"));

/**
 * Takes facts out of a conversation by a few patterns, without any model and without a
 * network: the same words, the same facts. It is careful and knows English only. It
 * finds plain statements in the first person ("I live in Bern.", "Please always answer
 * in German."), one fact a sentence, and misses everything else.
 */
export function heuristicExtractor(): Extractor {
  return {
    name: "heuristic",
    extract: async ({ messages }) => {
      const { factsIn } = await statements.get();
      return messages.filter(({ role }) => role === "user").flatMap(factsIn);
    },
  };
}
