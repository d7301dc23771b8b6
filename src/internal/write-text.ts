const LAST_ASCII = 0x7f;
const SHORT = 64;

/** Writes UTF-8 and returns where the next text begins. For a short text, a call of `write` takes longer than its characters. */
export function writeText(into: Buffer, text: string, at: number): number {
  if (text.length > SHORT) return at + into.write(text, at);
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > LAST_ASCII) return at + into.write(text, at);
    into[at + index] = unit;
  }
  return at + text.length;
}
