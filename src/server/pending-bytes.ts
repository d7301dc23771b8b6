import { Refusal } from "./request/refusal.ts";

/**
 * What the service holds in memory for its clients: bodies that arrive, and answers that are not taken yet. It is
 * bounded, and one owner cannot have all of it. One request alone always has room, whatever its size.
 */
export class PendingBytes {
  readonly #most: number;
  readonly #mostPerOwner: number;
  readonly #byOwner = new Map<string, number>();
  #total = 0;

  constructor({ most, mostPerOwner }: { readonly most: number; readonly mostPerOwner: number }) {
    this.#most = most;
    this.#mostPerOwner = mostPerOwner;
  }

  ofRequest(): BytesOfRequest {
    return new BytesOfRequest(this);
  }

  hasRoom(owner: string, own: number, more: number): boolean {
    const owned = this.#byOwner.get(owner) ?? 0;
    return owned === own || (owned + more <= this.#mostPerOwner && this.#total + more <= this.#most);
  }

  add(owner: string, bytes: number): void {
    this.#total += bytes;
    const owned = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (owned === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, owned);
  }
}

/** What one request holds, from its body's first byte until its answer was taken or its connection is gone. */
export class BytesOfRequest {
  readonly #all: PendingBytes;
  #owner: string | undefined;
  #bytes = 0;
  #isReleased = false;

  constructor(all: PendingBytes) {
    this.#all = all;
  }

  /** Before an owner is known nothing is held: bodies are read, and answers longer than a few lines given, to owners alone. */
  belongsTo(owner: string): void {
    this.#owner = owner;
  }

  /** Refuses where that would be too much; nothing was done then. */
  take(bytes: number): void {
    if (this.#owner !== undefined && !this.#all.hasRoom(this.#owner, this.#bytes, bytes))
      throw new Refusal(
        "RATE_LIMITED",
        "too much is under way for this client; read the answers, or send less at once",
        {
          headers: { "retry-after": "1", connection: "close" },
        },
      );
    this.#add(bytes);
  }

  /** The body was used; the answer is this long. */
  answered(bytes: number): void {
    this.#add(bytes - this.#bytes);
  }

  release(): void {
    this.#add(-this.#bytes);
    this.#isReleased = true;
  }

  #add(bytes: number): void {
    if (this.#owner === undefined || this.#isReleased) return;
    this.#bytes += bytes;
    this.#all.add(this.#owner, bytes);
  }
}
