import { type Access, noStoreHere } from "../../driver/access.ts";
import type { Durability } from "../../driver/durability.ts";
import { StateError } from "../../errors.ts";
import { statusOf, typeOf } from "./classify.ts";
import { faultOfMark } from "./index-mark.ts";
import { type IndexShape, indexBody } from "./layout.ts";
import type { Json, Requests } from "./requests.ts";

export interface IndexOptions extends IndexShape {
  readonly index: string;
  readonly createIndex: boolean;
  readonly waitForActiveShards: string | undefined;
}

/** What the name stands for. */
export interface IndexFacts {
  readonly isAlias: boolean;
  readonly durability: Durability;
}

/** Creates the index if it does not exist, unless access is "read"; and checks that it is ours. */
export async function prepareIndex(requests: Requests, options: IndexOptions, access: Access): Promise<IndexFacts> {
  const there = await describe(requests, options.index);
  if (there !== undefined) return factsOf(there, options);
  if (access === "read") throw noStoreHere(`there is no index "${options.index}"`);
  if (!options.createIndex) {
    throw new StateError("INVALID_ARGUMENT", `there is no index "${options.index}", and createIndex is false`);
  }
  await create(requests, options);
  const made = await describe(requests, options.index);
  if (made === undefined) throw new StateError("UNAVAILABLE", `the index "${options.index}" was made and is not there`);
  return factsOf(made, options);
}

async function describe(requests: Requests, index: string): Promise<Json | undefined> {
  try {
    return await requests.send({ method: "GET", path: `/${encodeURIComponent(index)}` });
  } catch (error) {
    if (statusOf(error) === 404 && typeOf(error) === "index_not_found_exception") return undefined;
    throw error;
  }
}

async function create(requests: Requests, { index, ...shape }: IndexOptions): Promise<void> {
  try {
    const body = JSON.stringify({ ...indexBody(shape), aliases: { [index]: {} } });
    // One active copy is enough to begin with: with a single node, a replica would never become active.
    await requests.send({ method: "PUT", path: `/${encodeURIComponent(`${index}-1`)}`, body });
  } catch (error) {
    // Another process was faster.
    if (typeOf(error) !== "resource_already_exists_exception") throw error;
  }
}

function factsOf(answer: Json, { index, waitForActiveShards }: IndexOptions): IndexFacts {
  const [[name, description] = [], ...others] = Object.entries(answer);
  if (others.length > 0) {
    throw new StateError("INVALID_ARGUMENT", `"${index}" leads to ${others.length + 1} indexes; threads lie in one`);
  }
  const { settings } = description as { settings?: { index?: Json } };
  const fault = faultOfMark(description);
  if (fault !== undefined)
    throw new StateError("INCOMPATIBLE", `the index "${index}" ${fault}; choose another indexName`);
  const { translog, number_of_replicas: replicas, routing_partition_size: partitions } = settings?.index ?? {};
  if (partitions !== undefined && Number(partitions) !== 1) {
    throw new StateError("INVALID_ARGUMENT", `the index "${index}" spreads a routing over shards; threads lie in one`);
  }
  const isSynced = (translog as { durability?: string } | undefined)?.durability?.toLowerCase() !== "async";
  const isReplicated = Number(replicas) > 0 && isSeveral(waitForActiveShards);
  return { isAlias: name !== index, durability: !isSynced ? "os" : isReplicated ? "replicated" : "fsync" };
}

/** Replicas alone prove nothing: if they are down, a write is answered without them. */
const isSeveral = (waitFor: string | undefined): boolean => waitFor === "all" || Number(waitFor) > 1;
