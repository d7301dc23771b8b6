import { emptied, type Rule } from "../state/people/field-rule.ts";
import { ITEM_METADATA } from "../state/people/personal-fields.ts";
import { redactJson } from "../state/people/redacting.ts";
import { type Redactor, redactText } from "../state/secrets.ts";
import { decodeText, encodeText } from "../state/values/codec.ts";
import type { IndexedText, PutEntry } from "./items.ts";

/** A put as the redactor leaves it: what is indexed and embedded is made from that, and knows no more. */
export function redactedEntry(entry: PutEntry, redactor: Redactor): PutEntry {
  const { value, metadata, index } = entry;
  const isText = typeof index === "object" && index !== null && "text" in index;
  return {
    ...entry,
    value: redacted(value, "value", emptied, redactor),
    ...(metadata !== undefined && { metadata: redacted(metadata, "metadata", ITEM_METADATA, redactor) }),
    ...(isText && { index: textsOf(index, redactor) }),
  };
}

function redacted<Value>(value: Value, name: string, rule: Rule, redactor: Redactor): Value {
  if (value === undefined) return value;
  const text = encodeText(value, name);
  const clean = redactJson(text, rule, redactor);
  return clean === text ? value : (decodeText(clean, name) as Value);
}

const textsOf = (index: IndexedText, redactor: Redactor): IndexedText => {
  const clean = Object.entries(index).map(([name, text]) => [
    name,
    typeof text === "string" ? redactText(text, redactor) : text,
  ]);
  return Object.fromEntries(clean) as IndexedText;
};
