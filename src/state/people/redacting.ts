import { type Redactor, redactText } from "../secrets.ts";
import { isJsonList, type JsonObject, type JsonValue, mapJson, mapParts, membersOf } from "../values/tags.ts";
import { emptied, type Fields, type Members, name, type Rule, rowsFor } from "./field-rule.ts";
import { BODY_RULES } from "./personal-fields.ts";
import { isAttributed } from "./subjects.ts";

/**
 * What a redactor is given of a save: every text, by the same rows that an erasure follows, except what a row marks as
 * no person's words. A role, an id or a hash that a redactor changed would be another role, another call.
 */

const STATE: Fields = {
  fields: Object.fromEntries(Object.entries(BODY_RULES).map(([field, { rule }]) => [field, rule])),
};

const perField = (rowFor: (rule: Rule) => Rule): Members => ({
  own: Object.fromEntries(Object.entries(STATE.fields).map(([field, rule]) => [field, rowFor(rule)])),
  others: rowFor(emptied),
});

const names: Rule = { each: name("a name of a field or member, which is never changed") };

/** A record's body: a whole state, or a change of one. */
const BODY: Fields = {
  fields: {
    base: STATE,
    delta: {
      fields: {
        set: STATE,
        unset: names,
        append: STATE,
        lists: perField((rule) => ({ fields: { items: rule } })),
        records: perField((rule) => ({ fields: { set: rule, unset: names } })),
      },
    },
  },
};

/** The body of a record as the redactor leaves it: the very same text where it changes nothing. */
export const redactBody = (text: string, redactor: Redactor): string => redactJson(text, BODY, redactor);

/** An encoded value, whose place has this rule. */
export function redactJson(text: string, rule: Rule, redactor: Redactor): string {
  const json = JSON.parse(text) as JsonValue;
  const clean = redacted(json, rule, redactor);
  return clean === json ? text : JSON.stringify(clean);
}

/** Metadata as they are stored: their own keys are not escaped, whatever they are. */
export function redactMetadata(text: string, rule: Rule, redactor: Redactor): string {
  const members = JSON.parse(text) as JsonObject;
  const rows = "own" in rule ? rowsFor(rule, members) : () => rule;
  const clean = mapJson(members, (part, key) => redacted(part, rows(String(key)), redactor));
  return clean === members ? text : JSON.stringify(clean);
}

function redacted(json: JsonValue, rule: Rule, redactor: Redactor): JsonValue {
  if ("without" in rule) {
    return rule.redacted === undefined ? everyText(json, redactor) : redacted(json, rule.redacted, redactor);
  }
  if ("kept" in rule) return rule.is(json) ? json : everyText(json, redactor);
  if ("each" in rule) {
    if (!isJsonList(json)) return everyText(json, redactor);
    return mapJson(json, (item) => redacted(item, rule.each, redactor));
  }
  const members = membersOf(json);
  if (members === undefined || isAttributed(members)) return everyText(json, redactor);
  const rows = rowsFor(rule, members);
  return mapParts(json, (part, key) => redacted(part, rows(String(key)), redactor));
}

/** Whom a value is about stays: an erasure finds it by that. */
function everyText(json: JsonValue, redactor: Redactor): JsonValue {
  if (typeof json === "string") return redactText(json, redactor);
  const members = membersOf(json);
  if (members === undefined || !isAttributed(members)) return mapParts(json, (part) => everyText(part, redactor));
  return mapParts(json, (part, key) => (key === "value" ? everyText(part, redactor) : part));
}
