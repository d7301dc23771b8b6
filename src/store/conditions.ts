/** What a filter means, after its syntax was checked: what drivers evaluate or translate. */

/** What a filter can compare with. */
export type Scalar = string | number | boolean | null;

/** Where a field is: in the value or the metadata, then the names of members from the outside in. */
export interface FieldPath {
  readonly of: "value" | "metadata";
  readonly names: readonly string[];
}

export type Comparison = "gt" | "gte" | "lt" | "lte";

/**
 * A missing field equals nothing, and is neither greater nor less than anything.
 * Scalars of different types are never equal and never compared. Texts are
 * compared by code points. Members of arrays have no paths. A value that is not
 * JSON (a Date, a Map, bytes, NaN) exists and equals nothing.
 */
export type Condition =
  | { readonly op: "and" | "or"; readonly of: readonly Condition[] }
  | { readonly op: "not"; readonly of: Condition }
  | { readonly op: "in"; readonly path: FieldPath; readonly operands: readonly Scalar[] }
  | { readonly op: "exists"; readonly path: FieldPath }
  | { readonly op: Comparison; readonly path: FieldPath; readonly operand: string | number };
