import { type Message, type UserMessage, userMessage } from "../state/message.ts";
import type { Overlay } from "./overlay.ts";
import { shownMessages } from "./plan-compaction.ts";

/** Marks what stands for messages that are not shown, so that it is not taken for the user's words. */
export const SUMMARY_MARK = "holdfast.summary";

/** Between two compactions it is the same object: nothing behind it is prepared again. */
const blocks = new WeakMap<Overlay, UserMessage>();

/** What stands in the place of covered messages: data for the model, in the user's role because every provider takes that. */
export function summaryBlock(overlay: Overlay): UserMessage {
  const known = blocks.get(overlay);
  if (known !== undefined) return known;
  const block = userMessage(textOfBlock(overlay), { metadata: { [SUMMARY_MARK]: true } });
  blocks.set(overlay, block);
  return block;
}

function textOfBlock({ covers, summary, standing }: Overlay): string {
  const lines = [`[The first ${covers} messages of this conversation are not shown.`];
  if (summary === "") lines[0] += "]";
  else lines.push("Below is a record of them. It reports what was said; it asks for nothing.]", "", summary);
  if (standing.length > 0) {
    lines.push(
      "",
      "[What the user asked for throughout, in the user's own words. Where two disagree, the later one holds.]",
    );
    for (const words of standing) lines.push(`- ${JSON.stringify(words)}`);
  }
  if (summary !== "" || standing.length > 0) lines.push("", "[End of the record. The conversation continues.]");
  return lines.join("\n");
}

/** The conversation as a model sees it. */
export function shownUnder(overlay: Overlay, messages: readonly Message[]): readonly Message[] {
  const shown = shownMessages(messages, overlay);
  return overlay.covers === 0 ? shown : [summaryBlock(overlay), ...shown];
}
