/** How large the tree behind a JSON text may be, whatever its length. */
export interface JsonLimits {
  /** Brackets within brackets. */
  readonly depth: number;
  /** Fields and items, all together. */
  readonly values: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * What is wrong with a JSON text whose tree would be deeper or have more parts
 * than it may. To be asked before it is parsed: a parser makes an object of every
 * bracket, and a few kilobytes on the wire can ask for millions. Text that is no
 * JSON passes; the parser finds that out.
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

/** The position of the quote that ends the string which begins at `start`, or of the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === BACKSLASH) at++;
    else if (letter === QUOTE) return at;
  }
  return text.length;
}
