import { type Redactor, redactJson, redactText } from "../state/secrets.ts";
import { decodeText, encodeText } from "../state/values/codec.ts";
import type { IndexedText, PutEntry } from "./items.ts";

/** A put as the redactor leaves it: what is indexed and embedded is made from that, and knows no more. */
export function redactedEntry(entry: PutEntry, redactor: Redactor): PutEntry {
  const { value, metadata, index } = entry;
  const isText = typeof index === "object" && index !== null && "text" in index;
  return {
    ...entry,
    value: redacted(value, "value", redactor),
    ...(metadata !== undefined && { metadata: redacted(metadata, "metadata", redactor) }),
    ...(isText && { index: textsOf(index, redactor) }),
  };
}

function redacted<Value>(value: Value, name: string, redactor: Redactor): Value {
  if (value === undefined) return value;
  const text = encodeText(value, name);
  const clean = redactJson(text, redactor);
  return clean === text ? value : (decodeText(clean, name) as Value);
}

const textsOf = (index: IndexedText, redactor: Redactor): IndexedText => {
  const clean = Object.entries(index).map(([name, text]) => [
    name,
    typeof text === "string" ? redactText(text, redactor) : text,
  ]);
  return Object.fromEntries(clean) as IndexedText;
};
