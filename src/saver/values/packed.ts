/**
 * A value on its way into a record, before anything is known of what the record
 * can share: text where there is nothing to share, and lists where there may be.
 * Text is what the codec of `state` writes, so what it can keep is what is kept.
 */
export type Packed = string | LateText | PackedList | Template;

/** Text that another serialiser is still making; it is there before the value is written. */
export class LateText {
  text: string | undefined;
}

/** Elements that are kept once for all the lists that hold them. */
export class PackedList {
  readonly items: readonly Packed[];

  constructor(items: readonly Packed[]) {
    this.items = items;
  }
}

/** Text with lists in it. */
export class Template {
  readonly chunks: readonly (string | LateText | PackedList)[];

  constructor(chunks: readonly (string | LateText | PackedList)[]) {
    this.chunks = chunks;
  }
}

/** Puts a value together out of text and of values that are packed already. */
export class Packer {
  readonly #chunks: (string | LateText | PackedList)[] = [];
  #text = "";

  add(part: Packed): this {
    if (typeof part === "string") this.#text += part;
    else if (part instanceof Template) for (const chunk of part.chunks) this.add(chunk);
    else {
      this.#chunks.push(this.#text, part);
      this.#text = "";
    }
    return this;
  }

  done(): Packed {
    return this.#chunks.length === 0 ? this.#text : new Template([...this.#chunks, this.#text]);
  }
}

/** A list whose text is shorter than this is written where it stands. */
const SHORTEST_SHARED_LIST = 64;

/** The list of these items: shared where that pays. */
export function packedList(items: readonly Packed[]): Packed {
  let length = 0;
  for (const item of items) {
    if (typeof item !== "string") return new PackedList(items);
    length += item.length + 1;
    if (length >= SHORTEST_SHARED_LIST) return new PackedList(items);
  }
  return `[${items.join(",")}]`;
}
