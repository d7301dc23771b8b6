/** Models like to put JSON into a Markdown fence. What stands in the fence, where the whole text is one; else the text. */
export function withoutFence(text: string): string {
  const whole = text.trim();
  const opening = /^```(?:json)?[^\S\n]*\n/i.exec(whole)?.[0];
  if (opening === undefined || !whole.endsWith("```") || whole.length < opening.length + 3) return text;
  return whole.slice(opening.length, -3).trim();
}

/** What stands in the first fence of a text that may say more than that. */
export function fencedIn(text: string): string | undefined {
  const begin = text.indexOf("```");
  const end = begin === -1 ? -1 : text.indexOf("```", begin + 3);
  return end === -1
    ? undefined
    : text
        .slice(begin + 3, end)
        .replace(/^json/, "")
        .trim();
}
