import { placeAt, recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { vectorText } from "../../src/wire/item-messages.ts";
import type { ItemOperation } from "../../src/wire/item-routes.ts";
import { encodeAppend } from "../../src/wire/messages.ts";
import { entityTag, idempotencyKey } from "../../src/wire/names.ts";
import { type Operation, pathOf, ROUTES } from "../../src/wire/routes.ts";
import type { RawRequest } from "./raw-requests.ts";

const item = { namespace: ["docs"], key: "kept" };
const scope = { namespace: [], recursive: true, limit: 5 };

/** The bodies about items, for a tenant whose only item is "kept" in "docs". */
const ITEM_BODIES: Readonly<Partial<Record<ItemOperation, object>>> = {
  writeItems: {
    changes: [{ kind: "put", namespace: ["docs"], key: "new", writeKey: "w1", digest: "d", version: "v", value: "1" }],
  },
  removeItems: { changes: [{ kind: "remove", ...item, writeKey: "w2", digest: "d" }] },
  clearItems: { ...scope, before: 1 },
  readItems: { ids: [item] },
  scanItems: { ...scope, filter: { text: { $exists: true } } },
  listNamespaces: { prefix: [], limit: 5 },
  searchItems: { ...scope, words: ["zebra"] },
  nearestItems: { ...scope, vector: vectorText(Float32Array.of(1, 2)) },
  readVector: item,
  vectorDimension: { namespace: [] },
};

/** A request of each operation that a service with the thread "t" of one record answers with success. */
export function sampleRequest(
  operation: Operation,
): RawRequest & { readonly headers: Readonly<Record<string, string>> } {
  const { method, request } = ROUTES[operation];
  const path = pathOf(operation, { thread: "t", checkpoint: "checkpoint-1" });
  const append = requestFor(recordAt(2));
  const query = ROUTES[operation].query?.some(({ name }) => name === "limit") ? "?limit=5" : "";
  const bodies: Partial<Record<Operation, string | Uint8Array>> = {
    append: encodeAppend(append),
    send: JSON.stringify({ signal: { cancel: true }, id: "s1", create: false }),
    copy: JSON.stringify({ target: "copy", generation: "second" }),
    search: JSON.stringify({ words: ["word"], limit: 5 }),
    queryMetadata: JSON.stringify({ key: "a", valueJson: "1", limit: 5 }),
    ...Object.fromEntries(Object.entries(ITEM_BODIES).map(([name, body]) => [name, JSON.stringify(body)])),
  };
  const body = bodies[operation];
  const headers = {
    ...(request !== undefined && { "content-type": request.type }),
    ...(operation === "append" && {
      "if-match": entityTag(placeAt(1)),
      "idempotency-key": idempotencyKey(append.record.writeId),
    }),
  };
  return { method, path: `${path}${query}`, headers, ...(body !== undefined && { body }) };
}
