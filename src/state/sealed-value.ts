/**
 * A value that was sealed with a key that is not at hand. It is stored and
 * handed on as it is: whoever has the key opens it, and for everybody else the
 * rest of the state loads all the same.
 */
export class SealedValue {
  /** Which key it was sealed with. A name, never the key. */
  readonly keyId: string;
  /** In base64: what only that key opens. */
  readonly sealed: string;

  constructor(keyId: string, sealed: string) {
    this.keyId = keyId;
    this.sealed = sealed;
    Object.freeze(this);
  }
}
