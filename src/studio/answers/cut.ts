import type { CutText } from "../api.ts";

/** Longer texts are cut here, on the server, and the page asks for the rest. */
export const TEXT_SHOWN = 8000;
export const ARGUMENTS_SHOWN = 4000;
export const LINE_SHOWN = 500;

/** Never between the two halves of one character. */
export function cutAt(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

export const cut = (text: string, most: number = TEXT_SHOWN): CutText => ({
  text: cutAt(text, most),
  length: text.length,
});

const LIST_BYTES = 160 * 1024;

/** As many from the start as keep an answer below its limit; one at least, so that paging comes to an end. */
export function fitting<Item>(items: readonly Item[], mostBytes: number = LIST_BYTES): readonly Item[] {
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (bytes > mostBytes && index > 0) return items.slice(0, index);
  }
  return items;
}
