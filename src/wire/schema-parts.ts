/** What schemas of messages are made of. */

import { MAX_ID_BYTES } from "../driver/ids.ts";
import { MAX_PAGE_ITEMS } from "./protocol.ts";

export type Schema = Readonly<Record<string, unknown>>;

export const text: Schema = { type: "string" };
export const count: Schema = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
export const flag: Schema = { type: "boolean" };
export const limit: Schema = { type: "integer", minimum: 0, maximum: MAX_PAGE_ITEMS };

/** No id contains control characters. A schema cannot express the limit in bytes. */
export const id: Schema = {
  type: "string",
  minLength: 1,
  maxLength: MAX_ID_BYTES,
  pattern: "^[^\\x00-\\x1f\\x7f]+$",
  description: `At most ${MAX_ID_BYTES} bytes of UTF-8`,
};

export const metadata: Schema = {
  type: "string",
  format: "holdfast-metadata",
  contentMediaType: "application/json",
  description: "A JSON object as text",
};
export const jsonText: Schema = { type: "string", format: "holdfast-json", contentMediaType: "application/json" };
export const list = (items: Schema): Schema => ({ type: "array", items });
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

export const object = (
  required: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema => ({
  type: "object",
  properties: { ...required, ...optional },
  required: Object.keys(required),
});

/** The schema of a request: a misspelt field is refused. */
export const request = (...parts: Parameters<typeof object>): Schema => ({
  ...object(...parts),
  additionalProperties: false,
});
