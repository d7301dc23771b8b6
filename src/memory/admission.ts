import { isPlainObject } from "../state/values/doorway.ts";
import type { ExtractableMessage } from "./extractor.ts";
import { type Fact, MEMORY_TYPES, type MemoryType } from "./memory.ts";

/** What becomes of something that an extractor found. */
export type Verdict =
  | {
      readonly decision: "store" | "review";
      readonly fact: Fact;
      readonly message: ExtractableMessage;
      readonly reason: string;
    }
  | { readonly decision: "refuse"; readonly reason: string };

const LONGEST: Readonly<Record<"subject" | "attribute" | "value" | "text" | "quote", number>> = {
  subject: 120,
  attribute: 120,
  value: 600,
  text: 600,
  quote: 1_000,
};
const SHORTEST_QUOTE = 3;

/**
 * The gate before anything is stored. A model may be wrong or may have been
 * talked into something, so each rule is one that needs no model: the fact names
 * a message that was shown to it, quotes its words, and is of a kind that such a
 * message may tell.
 */
export function admit(found: unknown, messages: readonly ExtractableMessage[], reviewAll: boolean): Verdict {
  const fault = faultIn(found);
  if (fault !== undefined) return refuse(fault);
  const fact = cleaned(found as Fact);
  const message = messages.find(({ index }) => index === fact.message);
  if (message === undefined) return refuse("it cites a message that it was not shown");
  if (!withSingleSpaces(message.text).includes(withSingleSpaces(fact.quote))) {
    return refuse("its quote is not in the message that it cites");
  }
  const isPersonal = fact.type === "user" || fact.type === "feedback";
  if (isPersonal && message.role !== "user")
    return refuse(`only the user's own words can tell a "${fact.type}" memory`);
  const review = message.role !== "user" ? "the assistant said it, not the user" : reasonForDoubt(fact);
  if (review !== undefined) return { decision: "review", fact, message, reason: review };
  if (reviewAll) return { decision: "review", fact, message, reason: "every memory is reviewed" };
  return { decision: "store", fact, message, reason: "the user said it" };
}

const refuse = (reason: string): Verdict => ({ decision: "refuse", reason });

function faultIn(found: unknown): string | undefined {
  if (!isPlainObject(found)) return "it is not an object";
  if (!MEMORY_TYPES.includes(found["type"] as MemoryType)) return `its type must be one of ${MEMORY_TYPES.join(", ")}`;
  for (const [name, longest] of Object.entries(LONGEST)) {
    const text = found[name];
    if (typeof text !== "string" || text.trim() === "") return `it has no ${name}`;
    if (text.length > longest) return `its ${name} has more than ${longest} characters`;
    if (!text.isWellFormed()) return `its ${name} is not well-formed Unicode`;
  }
  if (!Number.isInteger(found["message"])) return "it cites no message";
  return (found["quote"] as string).trim().length < SHORTEST_QUOTE
    ? "its quote is too short to prove anything"
    : undefined;
}

/** Only what is known, on one line each. */
function cleaned({ type, subject, attribute, value, text, quote, message, many, ended }: Fact): Fact {
  const line = withSingleSpaces;
  return {
    type,
    subject: line(subject),
    attribute: line(attribute),
    value: line(value),
    text: line(text),
    quote,
    message,
    ...(many === true && { many }),
    ...(ended === true && { ended }),
  };
}

const withSingleSpaces = (text: string): string =>
  text
    .normalize("NFC")
    .replace(/[\s\u0000-\u001f\u007f]+/g, " ")
    .trim();

/** What is likelier an attack, or a secret that does not belong here, than a fact. A person decides. */
function reasonForDoubt({ attribute, value, text }: Fact): string | undefined {
  const words = `${attribute}\n${value}\n${text}`;
  if (SECRET.test(words) || SECRET_VALUE.test(value)) return "it looks like a credential";
  return ORDER.test(words) ? "it reads like an instruction to the assistant's machinery" : undefined;
}

const SECRET =
  /\b(?:pass(?:word|phrase|code)|api[ _-]?key|access[ _-]?key|private[ _-]?key|secret|token|credentials?|pin(?: code)?|cvv|iban|(?:credit|debit)[ _-]card|social security|ssn)\b/i;
const SECRET_VALUE =
  /\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|eyJ)[-_A-Za-z0-9]{12,}|-----BEGIN |\b(?:\d[ -]?){13,19}\b|(?<!\S)(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])\S{24,}/;
const ORDER =
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|earlier|above|all|any|your|the)\b.{0,40}\b(?:instructions?|rules?|prompts?|messages?|guidelines?|safety|approvals?|restrictions?)\b|\bsystem prompt\b|\byou are now\b|\bdeveloper mode\b|\bwithout (?:asking|approval|confirmation|telling)\b|\bexfiltrat|\bsend (?:all|every|the) .{0,40}\bto\b.{0,40}(?:https?:|@)/i;
