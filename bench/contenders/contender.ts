import type { WorkloadMessage } from "../workload.ts";

/** One way to keep a conversation, measured beside the others on the same steps. */
export interface Contender {
  readonly name: string;
  /** What the times stand for: whether a save has reached the disk when it returns. */
  readonly durability: string;
  /** Opens what lies in `directory`, or begins there. On a server, that is the name of a place of its own. */
  open(directory: string): Promise<OpenContender>;
  /** How many bytes the server keeps for it, where it does not keep them in the directory. */
  size?(directory: string): Promise<number>;
}

export interface OpenContender {
  /** Adds one message to the conversation and keeps it. */
  append(message: WorkloadMessage): Promise<void>;
  /** Reads the whole conversation; returns how many messages it has. */
  load(): Promise<number>;
  /** Lists the history; returns how many checkpoints it has. Missing where the contender keeps none. */
  listHistory?(): Promise<number>;
  /** What was asked of the server so far. */
  readonly roundTrips?: () => number;
  close(): Promise<void>;
}

export const THREAD = "conversation";
