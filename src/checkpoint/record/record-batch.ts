/**
 * Many JSON objects, parsed by few calls: a call for each costs more than its
 * content. Objects that cannot be parsed together are left to the caller, who
 * finds out one by one which of them is damaged.
 */

/** A batch becomes one string. The engine keeps larger ones apart, which costs more than it saves. */
const MOST_BYTES = 64 * 1024;
const scratch = Buffer.allocUnsafeSlow(MOST_BYTES);

/** Items one after another, in batches whose texts take up to `MOST_BYTES`; a larger one is a batch of its own. */
export function* inBatches<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Generator<readonly Item[]> {
  let begin = 0;
  let size = 0;
  for (let index = 0; index < items.length; index++) {
    // One byte for the comma between two, and one for each bracket.
    const own = sizeOf(items[index] as Item) + 2;
    if (size + own > MOST_BYTES && index > begin) {
      yield items.slice(begin, index);
      begin = index;
      size = 0;
    }
    size += own;
  }
  if (begin < items.length) yield items.slice(begin);
}

/** The objects behind these texts; `undefined` if any of them is not one object. */
export function parseTexts(texts: readonly string[]): readonly unknown[] | undefined {
  for (const text of texts) if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  return parseList(`[${texts.join(",")}]`, texts.length);
}

const [LIST_BEGINS, LIST_ENDS, COMMA, OBJECT_BEGINS, OBJECT_ENDS] = Buffer.from("[],{}");

/** The same for texts in UTF-8. */
export function parseBytes(texts: readonly Uint8Array[]): readonly unknown[] | undefined {
  let end = 0;
  for (const text of texts) {
    // Between others, a text that is no object might pass for a part of them.
    if (text[0] !== OBJECT_BEGINS || text.at(-1) !== OBJECT_ENDS) return undefined;
    if (end + text.byteLength + 2 > MOST_BYTES) return undefined;
    scratch[end] = (end === 0 ? LIST_BEGINS : COMMA) as number;
    scratch.set(text, end + 1);
    end += text.byteLength + 1;
  }
  scratch[end] = LIST_ENDS as number;
  return parseList(scratch.toString("utf8", 0, end + 1), texts.length);
}

/** What stands around the items of a list in each of several texts. */
export interface Outside {
  readonly begin: Uint8Array;
  readonly end: Uint8Array;
}

/**
 * The items of all these lists as one list; `undefined` if any of the texts, which
 * are JSON, is not one list within `outside`. A text that ends its list early ends
 * the common one early, too, and that is not JSON.
 */
export function parseInsides(texts: readonly Uint8Array[], { begin, end }: Outside): readonly unknown[] | undefined {
  let used = 0;
  for (const text of texts) {
    const last = text.length - end.length;
    const inside = last - begin.length;
    if (inside <= 0 || used + inside + 2 > MOST_BYTES) return undefined;
    if (!isAt(text, 0, begin) || !isAt(text, last, end)) return undefined;
    scratch[used] = (used === 0 ? LIST_BEGINS : COMMA) as number;
    scratch.set(text.subarray(begin.length, last), used + 1);
    used += inside + 1;
  }
  scratch[used] = LIST_ENDS as number;
  return parseList(scratch.toString("utf8", 0, used + 1));
}

/** `length` and not `byteLength`: the engine calls a function for the other one, each time. */
function isAt(text: Uint8Array, from: number, part: Uint8Array): boolean {
  const { length } = part;
  for (let index = 0; index < length; index++) if (text[from + index] !== part[index]) return false;
  return true;
}

function parseList(text: string, length?: number): readonly unknown[] | undefined {
  try {
    const list = JSON.parse(text) as readonly unknown[];
    return length === undefined || list.length === length ? list : undefined;
  } catch {
    return undefined;
  }
}
