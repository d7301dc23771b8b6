import assert from "node:assert/strict";
import { contextOf } from "../../checkpoint/context.ts";
import type { GetRequest, PendingWrite, PutRequest, SavedCheckpoint, Saver } from "../../saver/saver.ts";
import { type ConformanceCase, casesOf, type Fixture, type FixtureNeed } from "../conformance-case.ts";

/** A part of the fixture, or "log": a driver of this package's contract beneath. */
export type SaverNeed = FixtureNeed | "log";

export type SaverCase = ConformanceCase<Saver, SaverNeed>;

export const saverCasesOf: (area: string, cases: readonly Omit<SaverCase, "area">[]) => readonly SaverCase[] = casesOf;

export const saverOffers = ({ subject, ...fixture }: Fixture<Saver>, need: SaverNeed): boolean =>
  need === "log" ? contextOf(subject) !== undefined : fixture[need] !== undefined;

/** A checkpoint that must be there. */
export async function saved(saver: Saver, request: GetRequest): Promise<SavedCheckpoint> {
  const found = await saver.get(request);
  assert.ok(found, `no checkpoint for ${JSON.stringify(request)}`);
  return found;
}

/** Puts a line of checkpoints, each the child of the one before. */
export async function putLine(
  saver: Saver,
  threadId: string,
  ids: readonly string[],
  request: Partial<PutRequest> & { readonly dataOf?: (id: string) => Record<string, unknown> } = {},
): Promise<void> {
  const { dataOf = (id: string) => ({ at: id }), parentId: first, ...rest } = request;
  let parentId = first;
  for (const checkpointId of ids) {
    const follows = parentId === undefined ? {} : { parentId };
    await saver.put({ ...rest, ...follows, threadId, checkpointId, checkpointData: dataOf(checkpointId) });
    parentId = checkpointId;
  }
}

/** The ids of a list, in its order. */
export const idsOf = (listed: readonly { readonly checkpointId: string }[]): readonly string[] =>
  listed.map(({ checkpointId }) => checkpointId);

/** Writes as [task, channel, value]. */
export const writesOf = ({ pendingWrites }: { readonly pendingWrites: readonly PendingWrite[] }): readonly unknown[] =>
  pendingWrites.map(({ taskId, channel, value }) => [taskId, channel, value]);
