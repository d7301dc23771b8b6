import { assertCheckpointId, assertCheckpointNs, assertTaskId, assertThreadId } from "../driver/ids.ts";
import { invalid, isPlainObject, type Names, optionsOf } from "../driver/options.ts";
import { StateError } from "../errors.ts";
import type {
  ChannelWrite,
  DeleteForRunsRequest,
  GetRequest,
  ListRequest,
  ListThreadsRequest,
  PruneRequest,
  PutRequest,
  PutWritesRequest,
} from "./saver.ts";

const PUT: Names<PutRequest> = {
  threadId: true,
  checkpointId: true,
  checkpointData: true,
  checkpointNs: true,
  parentId: true,
  metadata: true,
};
const PUT_WRITES: Names<PutWritesRequest> = {
  threadId: true,
  checkpointId: true,
  taskId: true,
  writes: true,
  checkpointNs: true,
};
const GET: Names<GetRequest> = { threadId: true, checkpointNs: true, checkpointId: true };
const LIST: Names<ListRequest> = {
  threadId: true,
  checkpointNs: true,
  checkpointId: true,
  before: true,
  limit: true,
  filter: true,
};
const PRUNE: Names<PruneRequest> = { threadId: true, keepLast: true, olderThan: true };
const DELETE_FOR_RUNS: Names<DeleteForRunsRequest> = { runIds: true, threadId: true };
const LIST_THREADS: Names<ListThreadsRequest> = { prefix: true, cursor: true, limit: true };

export function checkedPut(given: PutRequest): PutRequest {
  const request = required("put", given, PUT);
  assertPlace(request.threadId, request.checkpointNs, request.checkpointId);
  if (request.parentId !== undefined) assertCheckpointId(request.parentId);
  if (!isPlainObject(request.checkpointData)) throw invalid("put(): checkpointData must be a plain object");
  return request;
}

export function checkedPutWrites(given: PutWritesRequest): PutWritesRequest {
  const request = required("putWrites", given, PUT_WRITES);
  assertPlace(request.threadId, request.checkpointNs, request.checkpointId);
  assertTaskId(request.taskId);
  if (!Array.isArray(request.writes) || !request.writes.every(isChannelWrite)) {
    throw invalid('putWrites(): writes must be a list of pairs, such as [["channel", value]]');
  }
  return request;
}

export function checkedGet(given: GetRequest): GetRequest {
  const request = required("get", given, GET);
  assertPlace(request.threadId, request.checkpointNs, request.checkpointId);
  return request;
}

export function checkedList(given: ListRequest | undefined): ListRequest {
  const request = optionsOf("listCheckpoints", given, LIST);
  const { threadId, checkpointNs, checkpointId, before, limit, filter } = request;
  if (threadId !== undefined) assertThreadId(threadId);
  if (checkpointNs !== undefined) assertCheckpointNs(checkpointNs);
  if (checkpointId !== undefined) assertCheckpointId(checkpointId);
  if (before !== undefined) assertCheckpointId(before);
  if (limit !== undefined) assertCount("listCheckpoints(): limit", limit);
  if (filter !== undefined && !isPlainObject(filter)) {
    throw invalid("listCheckpoints(): filter must be a plain object of metadata values");
  }
  return request;
}

export function checkedPrune(given: PruneRequest): PruneRequest {
  const request = required("prune", given, PRUNE);
  const { threadId, keepLast, olderThan } = request;
  if (threadId !== undefined) assertThreadId(threadId);
  if ((keepLast === undefined) === (olderThan === undefined)) {
    throw invalid("prune() takes either keepLast, a number, or olderThan, a Date");
  }
  if (keepLast !== undefined) {
    assertCount("prune(): keepLast", keepLast);
    if (keepLast === 0) throw invalid("prune(): keepLast must be at least 1; deleteThread() takes a thread away");
  }
  if (olderThan !== undefined && !(olderThan instanceof Date && !Number.isNaN(olderThan.getTime()))) {
    throw invalid("prune(): olderThan must be a valid Date");
  }
  return request;
}

export function checkedDeleteForRuns(given: DeleteForRunsRequest): DeleteForRunsRequest {
  const request = required("deleteForRuns", given, DELETE_FOR_RUNS);
  if (request.threadId !== undefined) assertThreadId(request.threadId);
  const { runIds } = request;
  if (!Array.isArray(runIds) || !runIds.every((runId) => typeof runId === "string" && runId !== "")) {
    throw invalid("deleteForRuns(): runIds must be a list of run ids, each of them text");
  }
  return request;
}

export const checkedListThreads = (given: ListThreadsRequest | undefined): ListThreadsRequest =>
  optionsOf("listThreads", given, LIST_THREADS);

function required<Request extends object>(method: string, given: Request, names: Names<Request>): Request {
  if (given === undefined) throw invalid(`${method}() takes one object, such as { threadId: "t1", … }`);
  return optionsOf(method, given, names);
}

function assertPlace(threadId: unknown, checkpointNs: unknown, checkpointId: unknown): void {
  assertThreadId(threadId);
  if (checkpointNs !== undefined) assertCheckpointNs(checkpointNs);
  if (checkpointId !== undefined) assertCheckpointId(checkpointId);
}

function assertCount(what: string, count: unknown): void {
  if (Number.isSafeInteger(count) && (count as number) >= 0) return;
  throw new StateError("INVALID_ARGUMENT", `${what} must be a whole number from 0 on; it is ${String(count)}`);
}

const isChannelWrite = (write: unknown): write is ChannelWrite =>
  Array.isArray(write) && write.length === 2 && typeof write[0] === "string";
