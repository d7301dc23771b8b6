import { StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { encodeId } from "../driver/namespaces.ts";
import type { ChangeResult, ItemId, ItemWords, StoredItem } from "../driver/store-driver.ts";
import { vectorFromBytes, vectorToBytes } from "../search/vectors.ts";
import { ITEM_FORMAT, newRandomName } from "./layout.ts";

/** What an object says of its item. */
export interface ItemObject {
  readonly id: ItemId;
  /** What is there, unless it has ended. */
  readonly item: KeptItem | undefined;
  readonly writes: readonly RememberedWrite[];
  readonly pending: PendingWrite | undefined;
}

export interface KeptItem {
  readonly stored: StoredItem;
  readonly fields: { readonly value: string; readonly metadata: string };
  readonly words: ItemWords | undefined;
  readonly vector: Float32Array | undefined;
  /** Of several items that were written together: the same for all of them. */
  readonly batch: string | undefined;
}

/** The answer of a write, for when it is repeated. */
export interface RememberedWrite {
  readonly key: string;
  readonly digest: string;
  readonly at: number;
  readonly result: Omit<ChangeResult, "repeated">;
  /** Conditions on other items that it was made with, by their write keys: they left nothing else. */
  readonly together: readonly (readonly [key: string, digest: string])[];
}

export interface PendingWrite {
  /** Names the attempt; of a batch, its object. */
  readonly attempt: string;
  readonly isBatch: boolean;
  /** It was made on condition of other items: it must not be taken for undone while it can still count. */
  readonly isConditional: boolean;
  /** How long others wait before they give it up. */
  readonly patienceMs: number;
  readonly item: KeptItem | undefined;
  readonly write: RememberedWrite;
}

/** An object that says nothing of its item. */
export const emptyObject = (id: ItemId): ItemObject => ({ id, item: undefined, writes: [], pending: undefined });

/** What is there once its pending write counts. */
export function settled(object: ItemObject): ItemObject {
  const { pending } = object;
  if (pending === undefined) return object;
  return { ...object, item: pending.item, writes: [...object.writes, pending.write], pending: undefined };
}

export const withdrawn = (object: ItemObject): ItemObject => ({ ...object, pending: undefined });

const FIRST_LINE = /^\{"format":(\d+),"checksum":"([\w-]{43})"\}\n/;

export function packItem(object: ItemObject): Buffer {
  const { id, item, writes, pending } = object;
  return pack({
    id: [id.namespace, id.key],
    revision: newRandomName(),
    ...(item !== undefined && { item: itemToJson(item) }),
    ...(writes.length > 0 && { writes: writes.map(writeToJson) }),
    ...(pending !== undefined && {
      pending: {
        ...pending,
        item: pending.item && itemToJson(pending.item),
        write: writeToJson(pending.write),
      },
    }),
  });
}

/** Two lines of JSON: the format and a checksum, then the content. */
export function pack(content: object): Buffer {
  const line = Buffer.from(`${JSON.stringify(content)}\n`);
  return Buffer.concat([Buffer.from(`${JSON.stringify({ format: ITEM_FORMAT, checksum: checksum(line) })}\n`), line]);
}

export function unpack(name: string, bytes: Buffer): Readonly<Record<string, unknown>> {
  const [firstLine, format, sum] = FIRST_LINE.exec(bytes.toString("latin1", 0, 96)) ?? [];
  if (firstLine === undefined) throw damaged(name, "does not begin as an object of holdfast does");
  if (Number(format) > ITEM_FORMAT) throw tooNew(name, Number(format));
  const line = bytes.subarray(firstLine.length);
  if (checksum(line) !== sum) throw damaged(name, "does not have the checksum it was written with");
  const content: unknown = JSON.parse(line.toString());
  if (typeof content !== "object" || content === null) throw damaged(name, "holds no object");
  return content as Readonly<Record<string, unknown>>;
}

/** `isNamed` says whether an object of this id may have the name. */
export function unpackItem(name: string, bytes: Buffer, isNamed: (id: ItemId) => boolean): ItemObject {
  const content = unpack(name, bytes) as unknown as ItemObjectJson;
  if (!Array.isArray(content.id) || !Array.isArray(content.id[0]))
    throw damaged(name, "does not say of which item it is");
  const [namespace, key] = content.id;
  const id = { namespace: Object.freeze([...namespace]), key };
  if (!isNamed(id)) throw damaged(name, `is the object of another item, ${JSON.stringify(encodeId(id))}`);
  const { item, writes = [], pending } = content;
  return {
    id,
    item: item && itemFromJson(id, item),
    writes: writes.map(writeFromJson),
    pending: pending && {
      ...pending,
      item: pending.item && itemFromJson(id, pending.item),
      write: writeFromJson(pending.write),
    },
  };
}

const checksum = (bytes: Uint8Array): string => nodeCrypto().createHash("sha256").update(bytes).digest("base64url");

interface ItemObjectJson {
  readonly id: readonly [readonly string[], string];
  readonly item?: ItemJson;
  readonly writes?: readonly WriteJson[];
  readonly pending?: Omit<PendingWrite, "item" | "write"> & { readonly item?: ItemJson; readonly write: WriteJson };
}

interface ItemJson {
  readonly version: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt?: number;
  readonly value: string;
  readonly metadata?: string;
  /** Where they differ from the value and the metadata. */
  readonly fields?: { readonly value?: string; readonly metadata?: string };
  readonly words?: ItemWords;
  readonly vector?: string;
  readonly batch?: string;
}

function itemToJson({ stored, fields, words, vector, batch }: KeptItem): ItemJson {
  const { namespace: _, key: __, metadata, expiresAt, ...rest } = stored;
  const other = {
    ...(fields.value !== stored.value && { value: fields.value }),
    ...(fields.metadata !== (metadata ?? "{}") && { metadata: fields.metadata }),
  };
  return {
    ...rest,
    ...(metadata !== undefined && { metadata }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(Object.keys(other).length > 0 && { fields: other }),
    ...(words !== undefined && { words }),
    ...(vector !== undefined && { vector: Buffer.from(vectorToBytes(vector)).toString("base64") }),
    ...(batch !== undefined && { batch }),
  };
}

function itemFromJson(id: ItemId, json: ItemJson): KeptItem {
  const { fields, words, vector, batch, metadata, expiresAt, ...rest } = json;
  return {
    stored: { ...id, ...rest, metadata, expiresAt },
    fields: { value: fields?.value ?? json.value, metadata: fields?.metadata ?? metadata ?? "{}" },
    words,
    vector: vector === undefined ? undefined : vectorFromBytes(Buffer.from(vector, "base64")),
    batch,
  };
}

/** Every item holds some: a list, and not an object with names. */
type WriteJson = readonly [
  key: string,
  digest: string,
  at: number,
  version: string | null,
  createdAt: number,
  updatedAt: number,
  expiresAt: number | null,
  together?: RememberedWrite["together"],
];

const writeToJson = ({ key, digest, at, result, together }: RememberedWrite): WriteJson => {
  const { version, createdAt, updatedAt, expiresAt = null } = result;
  const first = [key, digest, at, version, createdAt, updatedAt, expiresAt] as const;
  return together.length === 0 ? first : [...first, together];
};

function writeFromJson([
  key,
  digest,
  at,
  version,
  createdAt,
  updatedAt,
  end,
  together = [],
]: WriteJson): RememberedWrite {
  return { key, digest, at, result: { version, createdAt, updatedAt, expiresAt: end ?? undefined }, together };
}

export const writesToJson = (writes: readonly RememberedWrite[]): readonly unknown[] => writes.map(writeToJson);

export const writesFromJson = (json: unknown): readonly RememberedWrite[] =>
  (json as readonly WriteJson[]).map(writeFromJson);

const damaged = (name: string, what: string): StateError =>
  new StateError("CORRUPT", `the object ${name} ${what}. Restore it from a copy, or delete the item`, {
    location: name,
  });

const tooNew = (name: string, format: number): StateError =>
  new StateError(
    "INCOMPATIBLE",
    `the object ${name} was written in format ${format}; this build reads up to ${ITEM_FORMAT}. Upgrade holdfast to read it`,
    { location: name },
  );
