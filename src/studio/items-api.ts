/** The answers about what is kept beside threads: items, memories, graphs and people. Types alone, for both ends. */

import type { CutText, ValueAnswer } from "./api.ts";

export interface NamespacesAnswer {
  readonly namespaces: readonly (readonly string[])[];
  readonly cursor?: string;
}

export interface ItemRow {
  readonly namespace: readonly string[];
  readonly key: string;
  readonly preview: string;
  readonly updatedAt: number;
}

export interface ItemsAnswer {
  readonly items: readonly ItemRow[];
  readonly cursor?: string;
}

export interface ItemAnswer extends ItemRow {
  readonly version: string;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly value: CutText;
  readonly metadata: ValueAnswer;
  /** How many numbers its vector has, where it has one. */
  readonly dimension?: number;
  /** What a memory rests on. */
  readonly provenance?: {
    readonly quote: string;
    readonly threadId?: string;
    readonly checkpointId?: string;
    readonly message?: number;
    readonly at?: number;
  };
}

export interface NeighboursAnswer {
  readonly hits: readonly (ItemRow & { readonly score: number })[];
}

export interface GraphCheckpoint {
  readonly checkpointId: string;
  readonly parentId?: string;
  readonly at: number;
  readonly source?: string;
  readonly step?: number;
}

export interface GraphAnswer {
  /** "" is the root graph, the others are subgraphs. */
  readonly namespaces: readonly string[];
  readonly namespace: string;
  readonly checkpoints: readonly GraphCheckpoint[];
  readonly more: boolean;
  /** The one that is looked at; absent where the namespace has no checkpoint. */
  readonly shown?: {
    readonly checkpointId: string;
    readonly channels: readonly { readonly name: string; readonly value: CutText }[];
    readonly moreChannels: number;
    readonly pending: readonly { readonly taskId: string; readonly channel: string; readonly value: CutText }[];
    readonly metadata: CutText;
  };
}

export interface InventoryAnswer {
  readonly total: number;
  readonly places: readonly {
    readonly backend: string;
    readonly kind: string;
    readonly where: string;
    readonly count: number;
  }[];
  readonly morePlaces: number;
  readonly unreached: readonly { readonly where: string; readonly why: string }[];
}

export interface ErasurePlan {
  readonly planId: string;
  readonly places: readonly ErasedShown[];
  readonly unreached: readonly { readonly where: string; readonly why: string }[];
}

export interface ErasedShown {
  readonly backend: string;
  readonly records: number;
  readonly messages: number;
  readonly fields: number;
  readonly items: number;
}

/** The receipt as it is to be kept: whole, with its signature. */
export interface ErasureAnswer {
  readonly receipt: string;
  readonly number: number;
  readonly verified: boolean;
  readonly places: readonly ErasedShown[];
  /** What a second look found: nothing, if all went well. */
  readonly left: number;
}
