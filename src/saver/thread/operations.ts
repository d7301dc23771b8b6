import type { KnownPlace } from "../../checkpoint/log/thread-log.ts";
import type { Packed } from "../values/packed.ts";
import type { PackedParts } from "../values/parts.ts";

/** What this saver knows of a checkpoint that it read or put. */
export interface Seen {
  /** How many erasures its thread had. */
  erasures: number | undefined;
  /** The record that it was read from or written as; `undefined` until it is written. */
  place: KnownPlace | undefined;
  /** The record of the nearest ancestor that was written when this was put. */
  readonly madeOf?: KnownPlace | undefined;
}

/** A checkpoint that waits to be written. */
export interface PutOperation {
  readonly kind: "put";
  readonly ns: string;
  readonly id: string;
  readonly parentId: string | undefined;
  readonly parts: PackedParts;
  readonly metadata: string | undefined;
  readonly createdAt: number;
  /** Decides about parts once the parent is known. */
  readonly reconcile?: Reconcile;
  /** With "refuse": a put that is not a child of the newest is a conflict, unless its parent was requested by id. */
  readonly mustFollowNewest?: boolean;
  /** Of the parent. */
  readonly seen?: Seen;
}

/** Writes that wait to be written. */
export interface WritesOperation {
  readonly kind: "writes";
  readonly ns: string;
  readonly id: string;
  readonly taskId: string;
  readonly replaces: boolean;
  readonly writes: readonly { readonly channel: string; readonly index: number; readonly packed: Packed }[];
  /** Of the checkpoint that they belong to. */
  readonly seen?: Seen;
}

export type Operation = PutOperation | WritesOperation;

/** What is known when a put is about to be written. */
export interface Surroundings {
  /** Whether the put names a parent, be it there or not. */
  readonly hasParent: boolean;
  /** The text of a part of the parent, by its key. */
  readonly parentText: (key: string) => string | undefined;
  /** A part of the parent, to be put as it is. */
  readonly parentPart: (key: string) => Packed | undefined;
  /** Whether any checkpoint of the namespace that is at hand has this text there and has that other part too. */
  readonly isKnown: (key: string, text: string, alsoHas: string) => boolean;
}

/** The parts that are to be written, in place of those that were given. */
export type Reconcile = (given: PackedParts, surroundings: Surroundings) => PackedParts;
