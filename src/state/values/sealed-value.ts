/**
 * A value sealed with a key that is not at hand. It is stored and passed on
 * unchanged: whoever has the key can open it, and for everybody else the rest of
 * the state still loads. The doorway freezes it, like everything in a state.
 */
export class SealedValue {
  /** The name of the key that it was sealed with, never the key. */
  readonly keyId: string;
  /** The sealed bytes, in base64. */
  readonly sealed: string;

  constructor(keyId: string, sealed: string) {
    this.keyId = keyId;
    this.sealed = sealed;
  }
}
