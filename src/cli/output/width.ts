const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const ASCII = /^[\u0020-\u007e]*$/;
const WIDE =
  /^(?:\p{Emoji_Presentation}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|[\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]|.\ufe0f)/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** How many columns of a terminal a text takes. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += columnsOf(segment);
  return width;
}

const columnsOf = (grapheme: string): number => (INVISIBLE.test(grapheme) ? 0 : WIDE.test(grapheme) ? 2 : 1);

/** The text, cut to this many columns; what was cut ends in "…". */
export function cutTo(text: string, most: number): string {
  // More characters than this cannot be needed, and a cell may hold megabytes.
  const near = text.length > 16 * most ? text.slice(0, 16 * most).toWellFormed() : text;
  if (near.length === text.length && widthOf(text) <= most) return text;
  let [width, kept] = [0, ""];
  for (const { segment } of segmenter.segment(near)) {
    width += columnsOf(segment);
    if (width > most - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

export const padTo = (text: string, width: number, align: "left" | "right"): string => {
  const blank = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "left" ? text + blank : blank + text;
};
