import type { ShapeContext, ShapedConversation } from "../agent/ports.ts";
import type { Message } from "../state/message.ts";
import { fingerprint, overlayFor } from "./overlay.ts";
import { planCompaction } from "./plan-compaction.ts";
import { shownUnder } from "./summary-block.ts";

/** The newest messages, at most `count`. */
export function newestByCount(
  messages: readonly Message[],
  { overlay }: ShapeContext,
  most: number,
): ShapedConversation {
  const known = overlayFor(messages, overlay);
  const plan = planCompaction(messages, known, {
    of: () => 1,
    beside: 0,
    block: 0,
    nextBlock: () => 0,
    clears: false,
    high: most + 1,
    low: Math.floor(most / 2),
  });
  if (plan === undefined) return { messages: shownUnder(known, messages) };
  const { covers } = plan;
  const next = { ...known, covers, fingerprint: fingerprint(messages, covers), compactions: known.compactions + 1 };
  return { messages: shownUnder(next, messages), overlay: next };
}
