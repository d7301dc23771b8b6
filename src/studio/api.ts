/** Long because it is every answer of Studio's API in one place: types alone, which the page shares with the server. */

export interface ShownStanding {
  readonly waiting?: number;
  readonly open?: number;
  readonly inDoubt?: number;
  /** Calls that work outside the process will complete. */
  readonly pending?: number;
  readonly unfinished?: true;
  readonly stopped?: true;
}

export interface StoreAnswer {
  /** The URL without its secrets. */
  readonly store: string;
  readonly backend: string;
  readonly version: string;
  readonly mayWrite: boolean;
  readonly mayDelete: boolean;
  /** What this store has beside threads. */
  readonly hasItems: boolean;
  readonly searchMethod: "index" | "scan" | "none";
  readonly hasPeople: boolean;
  readonly canErase: boolean;
}

export interface ThreadRow {
  readonly threadId: string;
  readonly checkpointId: string;
  /** Milliseconds since 1970; absent where the newest checkpoint cannot be read. */
  readonly lastAt?: number;
  readonly messages?: number;
  /** What a load reads. */
  readonly loadBytes?: number;
  readonly standing?: ShownStanding;
  readonly kind: "agent" | "graph";
  readonly forkedFrom?: { readonly threadId: string; readonly checkpointId: string };
  readonly heldBy?: string;
  readonly heldUntil?: number;
  readonly metadata: readonly (readonly [key: string, value: string])[];
  /** Why it cannot be read, where that is so. */
  readonly trouble?: { readonly code: string; readonly message: string };
}

/** How far the walk over all heads has come: lists that are sorted or filtered say what they are made from. */
export interface WalkProgress {
  readonly read: number;
  readonly complete: boolean;
  /** It waits for a request to read on. */
  readonly paused: boolean;
  readonly failed?: string;
  /** How many threads can neither be read nor named, and what is wrong with the first. */
  readonly unnamed?: number;
  readonly unnamedFirst?: string;
}

export interface ThreadsAnswer {
  readonly rows: readonly ThreadRow[];
  readonly from: number;
  /** The number of threads that pass the filter, among those read. */
  readonly total: number;
  readonly counts: {
    readonly waiting: number;
    readonly inDoubt: number;
    readonly unfinished: number;
    readonly damaged: number;
  };
  readonly walk: WalkProgress;
}

export interface InboxEntry {
  readonly threadId: string;
  readonly id: string;
  readonly kind: "question" | "approval" | "external";
  /** It is unknown whether the call took effect. */
  readonly isInDoubt?: true;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: CutText;
  readonly question: CutText;
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly idempotencyKey?: string;
  readonly since?: number;
}

export interface InboxAnswer {
  readonly items: readonly InboxEntry[];
  readonly cursor?: string;
  readonly warnings: readonly string[];
}

export interface SearchAnswer {
  readonly hits: readonly SearchHit[];
  /** "newest": more records have the words than are ranked. */
  readonly order: "best" | "newest";
  readonly cursor?: string;
}

export interface SearchHit {
  readonly threadId: string;
  readonly checkpointId: string;
  readonly score: number;
  readonly at?: number;
  readonly messages?: number;
}

/** Text that may be cut; `length` is that of the whole, in UTF-16 units. */
export interface CutText {
  readonly text: string;
  readonly length: number;
}

export interface ThreadAnswer extends ThreadRow {
  readonly seq: number;
  readonly lease?: { readonly owner: string; readonly token: string; readonly until: number };
  readonly isNewest: true;
}

export interface CheckpointRow {
  readonly checkpointId: string;
  readonly seq: number;
  readonly at: number;
  readonly kind: "base" | "delta";
  readonly messages: number;
  /** How many more than the checkpoint before it, where that is known. */
  readonly added?: number;
  readonly bytes: number;
  readonly loadBytes: number;
  readonly standing?: ShownStanding;
  /** Since the checkpoint before it, in milliseconds. */
  readonly gap?: number;
}

export interface CheckpointsAnswer {
  readonly rows: readonly CheckpointRow[];
  readonly cursor?: string;
}

export type ShownPart =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly length: number; readonly path: ValuePath }
  | {
      readonly type: "file";
      readonly name?: string;
      readonly mediaType: string;
      readonly bytes?: number;
      readonly url?: string;
      readonly path: ValuePath;
    };

export type ValuePath = readonly (string | number)[];

export interface ShownExecution {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly status: "intended" | "started" | "waiting" | "pending" | "succeeded" | "failed" | "unknown" | "denied";
  readonly effect?: "pure" | "idempotent" | "atMostOnce";
  readonly attempts?: number;
  readonly startedAt?: number;
  readonly settledAt?: number;
  readonly error?: CutText;
  readonly settledBy?: { readonly by: string; readonly reason?: string };
  readonly idempotencyKey?: string;
  readonly argumentsHash?: string;
}

export interface ShownCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: CutText;
  readonly path: ValuePath;
  readonly invalid?: string;
  readonly execution?: ShownExecution;
  /** The question of this call that waits for a person. */
  readonly question?: ShownQuestion;
}

export interface ShownQuestion {
  readonly id: string;
  readonly kind: "question" | "approval" | "external";
  readonly question: CutText;
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly askedAt: number;
  readonly answer?: CutText;
  /** The answer was sent, and the thread's next run takes it in. */
  readonly isSent?: true;
}

export interface ShownMessage {
  readonly index: number;
  readonly id?: string;
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly name?: string;
  readonly parts: readonly ShownPart[];
  readonly calls: readonly ShownCall[];
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly isError?: true;
  readonly incomplete?: true;
  readonly finishReason?: string;
  /** The time of the checkpoint that brought it: messages themselves have no time. */
  readonly at?: number;
}

export interface MessagesAnswer {
  readonly checkpointId: string;
  readonly total: number;
  readonly from: number;
  readonly messages: readonly ShownMessage[];
}

/** Positions of messages, ascending; `more` where there are more than were looked for. */
export interface PlacesAnswer {
  readonly places: readonly number[];
  readonly more: boolean;
}

export interface LedgerRow extends ShownExecution {
  /** The number of the message that asked for it. */
  readonly message?: number;
  readonly question?: ShownQuestion;
}

export interface LedgerAnswer {
  readonly checkpointId: string;
  readonly total: number;
  readonly inDoubt: number;
  readonly from: number;
  /** Those in doubt first, then those that wait, then the newest. */
  readonly rows: readonly LedgerRow[];
}

export interface ValueNode {
  readonly type:
    | "text"
    | "number"
    | "boolean"
    | "null"
    | "undefined"
    | "bigint"
    | "date"
    | "bytes"
    | "sealed"
    | "list"
    | "object"
    | "map"
    | "set";
  /** The text of a leaf, perhaps cut. */
  readonly text?: string;
  /** What an object is best known by: its role, its name, the beginning of its text. */
  readonly hint?: string;
  /**
   * The size of the whole: characters of a text, bytes, members of anything that has
   * members.
   */
  readonly size?: number;
}

export interface ValueChild extends ValueNode {
  /** The next step of the path. */
  readonly step: string | number;
  /** What stands before it: the member's name or the key of a map. */
  readonly label: string;
}

export interface ValueAnswer {
  readonly node: ValueNode;
  readonly from: number;
  readonly children: readonly ValueChild[];
}

export interface TextAnswer {
  readonly text: string;
  readonly from: number;
  readonly length: number;
}

export interface BytesAnswer {
  readonly base64: string;
  readonly from: number;
  readonly length: number;
}

export interface StateAnswer {
  readonly threadId: string;
  readonly checkpointId: string;
  readonly seq: number;
  readonly at: number;
  readonly kind: "base" | "delta";
  readonly format: number;
  readonly schema: number;
  readonly writeId: string;
  readonly bytes: number;
  readonly chainRecords: number;
  readonly chainBytes: number;
  readonly isNewest: boolean;
  readonly metadata: ValueAnswer;
  readonly fields: ValueAnswer;
  readonly totals: Readonly<Record<string, number>>;
  readonly openCalls: readonly { readonly id: string; readonly name: string; readonly isBegun: boolean }[];
  readonly waiting: number;
}

export interface DiffSide {
  readonly threadId: string;
  readonly checkpointId: string;
  readonly at: number;
  readonly messages: number;
  readonly totals: Readonly<Record<string, number>>;
  readonly calls: number;
  readonly loadBytes: number;
}

export interface DiffAnswer {
  readonly a: DiffSide;
  readonly b: DiffSide;
  /** How many messages both have in common from the start. */
  readonly shared: number;
  readonly fields: readonly FieldChange[];
  readonly moreFields: number;
}

export interface FieldChange {
  readonly name: string;
  readonly before?: CutText;
  readonly after?: CutText;
}

export interface SeriesPoint {
  readonly at: number;
  readonly messages: number;
  readonly bytes: number;
  readonly loadBytes: number;
  readonly gap: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly cachedTokens?: number;
}

export interface SeriesAnswer {
  /** At most 300: each stands for `perPoint` checkpoints. */
  readonly points: readonly SeriesPoint[];
  readonly perPoint: number;
  readonly checkpoints: number;
  readonly tools: readonly {
    readonly name: string;
    readonly calls: number;
    readonly failed: number;
    readonly medianMs?: number;
    readonly slowestMs?: number;
  }[];
}

export interface LineageNode {
  readonly threadId: string;
  readonly parent?: string;
  readonly forkedAt?: { readonly checkpointId: string; readonly at?: number; readonly messages?: number };
  readonly lastAt?: number;
  readonly messages?: number;
  readonly standing?: ShownStanding;
  /** Deleted since, or out of reach. */
  readonly missing?: true;
}

export interface LineageAnswer {
  readonly nodes: readonly LineageNode[];
  readonly more: boolean;
  readonly walk: WalkProgress;
}
