import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { FOREIGN_TAGS } from "../../saver/values/foreign-tags.ts";
import { LateText, type Packed, packedList } from "../../saver/values/packed.ts";
import type { ForeignReader } from "../../saver/values/unpacking.ts";

/**
 * Values through a serialiser of the user's, one that encrypts for instance:
 * nothing is written that did not go through it. A list goes element by element,
 * so that elements that were seen before cost nothing.
 */
const SERDE_TAG = FOREIGN_TAGS.serde;

export class CustomValues {
  readonly #serde: SerializerProtocol;
  readonly pending: Promise<void>[] = [];

  constructor(serde: SerializerProtocol) {
    this.#serde = serde;
  }

  pack(value: unknown): Packed {
    return Array.isArray(value) && value.length > 0
      ? packedList(value.map((item) => this.#dump(item)))
      : this.#dump(value);
  }

  #dump(value: unknown): LateText {
    const late = new LateText();
    const dumping = this.#serde.dumpsTyped(value).then(([type, bytes]) => {
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
      late.text = `{"$":"${SERDE_TAG}","v":${JSON.stringify([type, data])}}`;
    });
    dumping.catch(() => undefined);
    this.pending.push(dumping);
    return late;
  }
}

export class CustomValueReader implements ForeignReader {
  readonly #serde: SerializerProtocol;

  constructor(serde: SerializerProtocol) {
    this.#serde = serde;
  }

  reads(tag: string): boolean {
    return tag === SERDE_TAG;
  }

  async revive(_: string, json: string): Promise<unknown> {
    const [type, data] = JSON.parse(json) as [string, string];
    return this.#serde.loadsTyped(type, new Uint8Array(Buffer.from(data, "base64")));
  }

  wrapper(): undefined {
    return undefined;
  }
}
