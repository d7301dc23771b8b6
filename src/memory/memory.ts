/**
 * What a memory is about: the user, the user's preferences for answers, the work at hand, or where something is found.
 */
export type MemoryType = "user" | "feedback" | "project" | "reference";

export const MEMORY_TYPES: readonly MemoryType[] = ["user", "feedback", "project", "reference"];

/** Where a memory comes from. It can be looked up as long as the thread exists. */
export interface Provenance {
  readonly threadId: string | null;
  /** The checkpoint of the save that held the message. */
  readonly checkpointId: string | null;
  /** The message's place in the thread, its id where it has one, whose words it holds, and where in it the quote ends. */
  readonly message: {
    readonly index: number;
    readonly id?: string;
    readonly role: "user" | "assistant";
    readonly offset: number;
  };
  /** Words of that message, letter by letter. */
  readonly quote: string;
  /** Who took it out: the model's id, or the extractor's name. */
  readonly extractor: string;
  readonly at: number;
}

/** What held once. Kept when something else takes its place, so that nothing is lost to a mistake. */
export interface PastValue {
  readonly value: string;
  readonly text: string;
  readonly validFrom: number;
  readonly validTo: number;
  readonly provenance: Provenance;
}

/**
 * One fact. Its id stands for *what* it says something about (a subject and an
 * attribute), not for the words: a correction takes the place of what it corrects,
 * in one write, and a repetition changes nothing.
 */
export interface Memory {
  readonly id: string;
  readonly type: MemoryType;
  readonly subject: string;
  readonly attribute: string;
  readonly value: string;
  /** The fact as a sentence that can be read by itself. */
  readonly text: string;
  /** `ended`: it held once and nothing took its place; it is not recalled. */
  readonly status: "active" | "ended";
  /** Always recalled, never dropped. */
  readonly pinned: boolean;
  readonly validFrom: number;
  readonly provenance: Provenance;
  /** Newest first. */
  readonly history: readonly PastValue[];
  /** How often it was said, and the last place. */
  readonly seen: number;
  readonly lastSeen: {
    readonly threadId: string | null;
    readonly index: number;
    readonly offset: number;
    readonly at: number;
  };
  /** How often it was recalled, counted at most once an hour. */
  readonly uses: number;
  readonly lastUsedAt: number;
}

/** Waits for a person's decision. Until then it is not recalled, and replaces no memory. */
export interface PendingMemory {
  readonly id: string;
  /** The memory it would become, or correct. */
  readonly memoryId: string;
  readonly reason: string;
  readonly fact: Fact;
  readonly provenance: Provenance;
}

/** What an extractor found, unchecked. */
export interface Fact {
  readonly type: MemoryType;
  /** Whom or what it is about: "user", "checkout-api". */
  readonly subject: string;
  /** What of it: "home city". */
  readonly attribute: string;
  readonly value: string;
  /** The subject may have several of these at once: languages, hobbies. */
  readonly many?: boolean;
  /** It no longer holds, and nothing takes its place. */
  readonly ended?: boolean;
  readonly text: string;
  /** Words of the message, letter by letter. Without it nothing is stored. */
  readonly quote: string;
  /** The message: `index` of the `ExtractableMessage`. */
  readonly message: number;
  /**
   * Whether a person should decide first: secrets, and whatever tells the assistant to act or to skip a check. Left
   * out, what is told about the assistant (`feedback`) is reviewed and the rest goes by the rules of the gate.
   */
  readonly review?: boolean;
}
