/**
 * The values of a statement, by name. The type is always given: a bare NULL would be
 * sent as text, and text in place of bytes or a number is refused.
 */
export type Bind =
  | { readonly text: string | null }
  | { readonly number: number | null }
  | { readonly bytes: Uint8Array | null }
  | { readonly vector: Float32Array | null }
  /** What the block returns. */
  | { readonly out: "number" | "text" };

export type Binds = Readonly<Record<string, Bind>>;

export const text = (value: string | null | undefined): Bind => ({ text: value ?? null });
export const number = (value: number | null | undefined): Bind => ({ number: value ?? null });
export const bytes = (value: Uint8Array | null | undefined): Bind => ({ bytes: value ?? null });
export const vector = (value: Float32Array | null | undefined): Bind => ({ vector: value ?? null });
export const OUT_NUMBER: Bind = { out: "number" };
/** At most 200 bytes. */
export const OUT_TEXT: Bind = { out: "text" };

/** A block takes up to this many bytes inline. Longer values travel as a temporary LOB. */
const MOST_BLOCK_BYTES = 32_767;

/** The types of `oracledb` that are used here. */
export interface OracleTypes {
  readonly BIND_OUT: number;
  readonly DB_TYPE_VARCHAR: unknown;
  readonly DB_TYPE_NUMBER: unknown;
  readonly DB_TYPE_RAW: unknown;
  readonly DB_TYPE_CLOB: unknown;
  readonly DB_TYPE_BLOB: unknown;
  /** Since 6.5. */
  readonly DB_TYPE_VECTOR?: unknown;
}

/** In the client's form. Never a bare `Uint8Array`, which it takes for a vector. */
export function clientBinds(types: OracleTypes, binds: Binds): Record<string, object> {
  return Object.fromEntries(Object.entries(binds).map(([name, bind]) => [name, clientBind(types, bind)]));
}

function clientBind(types: OracleTypes, bind: Bind): object {
  if ("out" in bind) {
    return { dir: types.BIND_OUT, type: bind.out === "number" ? types.DB_TYPE_NUMBER : types.DB_TYPE_VARCHAR };
  }
  if ("number" in bind) return { val: bind.number, type: types.DB_TYPE_NUMBER };
  if ("text" in bind) {
    const isLong = bind.text !== null && Buffer.byteLength(bind.text) > MOST_BLOCK_BYTES;
    return { val: bind.text, type: isLong ? types.DB_TYPE_CLOB : types.DB_TYPE_VARCHAR };
  }
  if ("vector" in bind) return { val: bind.vector, type: types.DB_TYPE_VECTOR };
  const { bytes } = bind;
  const isLong = bytes !== null && bytes.byteLength > MOST_BLOCK_BYTES;
  const val = bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { val, type: isLong ? types.DB_TYPE_BLOB : types.DB_TYPE_RAW };
}
