import { nodeCrypto } from "../../internal/node-builtins.ts";
import { Layout, type Sizes, sizesFor } from "../bucket-log/layout.ts";

/**
 * The names of a thread's objects as keys of a dict-shaped storage: letters a–z,
 * digits and "-", at most 95 of them.
 *
 *   holdfast-thread-<hash of the id>                                    the document of the thread
 *   holdfast-part-<hash of the id>-<life>-<first record>-<suffix>-page  some of its records
 *   holdfast-part-<hash of the id>-<life>-<record>-<suffix>-body        the body of one that is larger
 *
 * What they hold, and why that is safe between processes, is said in the layout of buckets.
 */
export class DictLayout extends Layout {
  override readonly separator: string = "-";

  constructor() {
    super("", "holdfast-thread-", "holdfast-part-");
  }

  /** 160 bits of a hash in letters and digits. The document holds the id, so even a collision would be noticed. */
  override nameOf(threadId: string): string {
    const hash = nodeCrypto().createHash("sha256").update(threadId, "utf8").digest("hex").slice(0, 40);
    return BigInt(`0x${hash}`).toString(36).padStart(31, "0");
  }

  /** Only the document knows it. */
  override idOf(_name: string): undefined {
    return undefined;
  }

  override isName(name: string): boolean {
    return /^[0-9a-z]{31}$/.test(name);
  }

  override beginning(_prefix: string): string {
    return "";
  }

  /**
   * A storage may take its time for each call and for each kilobyte, so a save rewrites little and makes few calls: larger
   * bodies are written once, under keys of their own.
   */
  override sizes(maxObjectBytes: number): Sizes {
    return { ...sizesFor(maxObjectBytes), inlineBody: 512, partsPerSave: 2 };
  }
}
