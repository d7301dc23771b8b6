import { StateError } from "../../errors.ts";
import { Refusal } from "../../server/request/refusal.ts";
import type { StoreItem } from "../../store/items/items.ts";
import type { Store } from "../../store/store.ts";
import type { ItemAnswer, ItemRow, ItemsAnswer, NamespacesAnswer, NeighboursAnswer } from "../items-api.ts";
import type { StudioRequest } from "../request.ts";
import type { StudioContext } from "../studio-context.ts";
import { cut, cutAt, fitting, LINE_SHOWN } from "./cut.ts";
import { jsonText, valueAnswer } from "./value-tree.ts";

const SHOWN = 50;

/** A store that has never held an item is empty, and not an error. */
async function withItems<T>(studio: StudioContext, empty: T, work: (store: Store) => Promise<T>): Promise<T> {
  try {
    return await work(await studio.items());
  } catch (error) {
    if (StateError.is(error) && error.code === "NOT_FOUND") return empty;
    throw error;
  }
}

export function namespacesAnswer(studio: StudioContext, request: StudioRequest): Promise<NamespacesAnswer> {
  const cursor = request.text("cursor");
  return withItems<NamespacesAnswer>(studio, { namespaces: [] }, async (store) => {
    const found = await store.listNamespaces({ limit: 200, ...(cursor !== undefined && { cursor }) });
    return { namespaces: fitting([...found]), ...(found.cursor !== undefined && { cursor: found.cursor }) };
  });
}

export function itemsAnswer(studio: StudioContext, request: StudioRequest): Promise<ItemsAnswer> {
  const [namespace, words, cursor] = [request.namespace(), request.text("words"), request.text("cursor")];
  const place = { limit: SHOWN, ...(cursor !== undefined && { cursor }) };
  return withItems<ItemsAnswer>(studio, { items: [] }, async (store) => {
    const found =
      words === undefined
        ? await store.list(namespace, { ...place, recursive: true })
        : await store.search(namespace, { ...place, query: words, mode: "text" });
    return { items: fitting(found.map(rowOf)), ...(found.cursor !== undefined && { cursor: found.cursor }) };
  });
}

export async function itemAnswer(studio: StudioContext, request: StudioRequest): Promise<ItemAnswer> {
  const [namespace, key] = [request.namespace(), keyOf(request)];
  const store = await studio.items();
  const item = await store.getItem(namespace, key);
  if (item === undefined) throw new StateError("NOT_FOUND", `there is no item ${JSON.stringify(key)}`);
  const vector = store.capabilities.semanticSearch ? await store.getEmbedding(namespace, key) : undefined;
  return {
    ...rowOf(item),
    version: item.version,
    createdAt: item.createdAt.getTime(),
    value: cut(jsonText(item.value, 2), 20_000),
    metadata: valueAnswer(item.metadata, 0),
    ...(item.expiresAt !== undefined && { expiresAt: item.expiresAt.getTime() }),
    ...(vector !== undefined && { dimension: vector.length }),
    ...provenanceIn(item.value),
  };
}

/** What is nearest in meaning to an item: its vector is asked with, and not shown. */
export async function neighboursAnswer(studio: StudioContext, request: StudioRequest): Promise<NeighboursAnswer> {
  const [namespace, key] = [request.namespace(), keyOf(request)];
  const store = await studio.items();
  const query = await store.getEmbedding(namespace, key);
  if (query === undefined) return { hits: [] };
  const hits = await store.searchByEmbedding([], { query, limit: 11 });
  const others = hits.filter((hit) => !(hit.key === key && jsonText(hit.namespace) === jsonText(namespace)));
  return { hits: others.slice(0, 10).map((hit) => ({ ...rowOf(hit), score: hit.score ?? 0 })) };
}

function keyOf(request: StudioRequest): string {
  const key = request.text("key");
  if (key === undefined) throw new Refusal("INVALID_ARGUMENT", "key must name an item");
  return key;
}

const rowOf = ({ namespace, key, value, updatedAt }: StoreItem): ItemRow => ({
  namespace: [...namespace],
  key,
  preview: cutAt(previewOf(value), LINE_SHOWN),
  updatedAt: updatedAt.getTime(),
});

/** A memory is best known by its sentence. */
function previewOf(value: unknown): string {
  const { text } = (value ?? {}) as { text?: unknown };
  return typeof text === "string" ? text : typeof value === "string" ? value : jsonText(value);
}

/** Which words of which thread a memory rests on, where the item is one. */
function provenanceIn(value: unknown): Pick<ItemAnswer, "provenance"> {
  const { provenance } = (value ?? {}) as { provenance?: unknown };
  const { threadId, checkpointId, quote, message, at } = (provenance ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof quote !== "string") return {};
  const { index } = (message ?? {}) as { index?: unknown };
  return {
    provenance: {
      quote: cutAt(quote, LINE_SHOWN),
      ...(typeof threadId === "string" && { threadId }),
      ...(typeof checkpointId === "string" && { checkpointId }),
      ...(typeof index === "number" && { message: index }),
      ...(typeof at === "number" && { at }),
    },
  };
}
