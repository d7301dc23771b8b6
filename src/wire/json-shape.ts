/** The largest tree that a JSON text may describe, whatever its length. */
export interface JsonLimits {
  /** Nesting depth. */
  readonly depth: number;
  /** Fields and items in total. */
  readonly values: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * What is wrong with a JSON text whose tree would be too deep or too large.
 * Checked before parsing: the parser makes an object for every bracket, so a few
 * kilobytes on the wire can ask for millions. Text that is not JSON passes; the
 * parser will report it.
 */
export function faultInShape(text: string, { depth, values }: JsonLimits): string | undefined {
  let [open, seen] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        seen++;
        if (++open > depth) return `is nested more than ${depth} deep`;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        open--;
        break;
      case COMMA:
        seen++;
        break;
    }
    if (seen > values) return `has more than ${values} fields and items`;
  }
  return undefined;
}

/** The position of the quote that ends the string beginning at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === BACKSLASH) at++;
    else if (letter === QUOTE) return at;
  }
  return text.length;
}
