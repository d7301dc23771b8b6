import { ownWords } from "../state/own-words.ts";
import type { ExtractableMessage } from "./extractor.ts";
import type { Fact, MemoryType } from "./memory.ts";

interface Rule {
  readonly type: MemoryType;
  readonly attribute: string | ((match: RegExpExecArray) => string);
  readonly subject?: string | ((match: RegExpExecArray) => string);
  readonly pattern: RegExp;
  readonly many?: boolean;
  /** The fact as a sentence; `$1` is what the pattern caught. */
  readonly text: (value: string, match: RegExpExecArray) => string;
}

const NAME = "([\\p{Lu}][\\p{L}'’-]+(?: [\\p{Lu}][\\p{L}'’-]+){0,3})";
const REST = "([^.!?;,]{2,80})";
const I_AM = "(?:i am|i'm|i’m)";
/** `i` would make every letter a capital one in NAME, so patterns with a name spell their cases out. */
const rule = (source: string, flags = "iu"): RegExp => new RegExp(`^${source}$`, flags);
/** Words before a statement that change nothing about it. */
const OPENERS = /^(?:(?:actually|by the way|well|so|ok|oh|no|and|also|correction|sorry|hi|hello|hey),? ){1,3}/i;

const RULES: readonly Rule[] = [
  {
    type: "user",
    attribute: "name",
    pattern: rule(`(?:[Mm]y name is(?: now)?|[Cc]all me|[Pp]lease call me) ${NAME}`, "u"),
    text: (value) => `The user's name is ${value}.`,
  },
  {
    type: "user",
    attribute: "home",
    pattern: rule(
      `(?:[Ii] (?:now )?live in|[Ii](?:'ve| have)? (?:just )?moved to|[Ii](?:'m| am) based in) (?:the )?${NAME}(?: now| last \\w+| this \\w+)?`,
      "u",
    ),
    text: (value) => `The user lives in ${value}.`,
  },
  {
    type: "user",
    attribute: "employer",
    pattern: rule(`(?:[Ii] (?:now )?work (?:at|for)|[Ii](?:'ve| have)? (?:just )?joined) ${NAME}(?: now)?`, "u"),
    text: (value) => `The user works for ${value}.`,
  },
  {
    type: "user",
    attribute: "occupation",
    pattern: rule(
      `(?:i work as (?:an? )?|my job is |${I_AM} (?:an?) )((?:\\w+ ){0,3}(?:engineer|developer|designer|teacher|nurse|doctor|lawyer|manager|student|researcher|writer|analyst|architect|accountant|electrician|consultant|scientist|journalist))`,
    ),
    text: (value) => `The user works as ${value}.`,
  },
  {
    type: "user",
    attribute: "allergy",
    many: true,
    pattern: rule(`${I_AM} allergic to ${REST}`),
    text: (value) => `The user is allergic to ${value}.`,
  },
  {
    type: "user",
    attribute: "diet",
    pattern: rule(`${I_AM} (?:now )?(?:an? )?(vegetarian|vegan|pescatarian)(?: now)?`),
    text: (value) => `The user is ${value}.`,
  },
  {
    type: "user",
    attribute: "language",
    many: true,
    pattern: rule(`[Ii] (?:also )?speak ${NAME}`, "u"),
    text: (value) => `The user speaks ${value}.`,
  },
  {
    type: "user",
    attribute: (match) => `favourite ${match[1]?.toLowerCase()}`,
    pattern: rule(`my favou?rite ([a-z]+) is(?: now)? ${REST}`),
    text: (value, match) => `The user's favourite ${match[1]?.toLowerCase()} is ${value}.`,
  },
  {
    type: "user",
    attribute: (match) => `${match[1]?.toLowerCase()}'s name`,
    pattern: rule(
      `[Mm]y (wife|husband|partner|son|daughter|brother|sister|mother|father|dog|cat|boss)(?:'s name is| is called| is named) ${NAME}`,
      "u",
    ),
    text: (value, match) => `The user's ${match[1]?.toLowerCase()} is called ${value}.`,
  },
  {
    type: "user",
    attribute: "preference",
    many: true,
    pattern: rule(`i (?:really )?prefer ${REST}`),
    text: (value) => `The user prefers ${value}.`,
  },
  {
    type: "feedback",
    attribute: "standing wish",
    many: true,
    pattern: rule(`(?:please )?((?:always|never|from now on,?) [^.!?]{4,120})`),
    text: (value) => `The user wants the assistant to follow this: ${value}.`,
  },
  {
    type: "project",
    subject: (match) => match[1] ?? "project",
    attribute: "deadline",
    pattern: rule(
      `(?:the |our |my )?((?:[\\w-]+ ){0,2}(?:deadline|due date|launch)) (?:is|was moved to|has moved to|is now) (?:on )?${REST}`,
    ),
    text: (value, match) => `The ${match[1]} is ${value}.`,
  },
  {
    type: "reference",
    subject: (match) => match[1]?.toLowerCase() ?? "document",
    attribute: "place",
    pattern: rule(
      `(?:the |our )((?:[\\w-]+ ){0,3}(?:runbook|docs|documentation|wiki|dashboard|repository|repo|spec|tracker)) (?:is|are|lives|live) (?:now )?(?:in|at|on|under) ${REST}`,
    ),
    text: (value, match) => `The ${match[1]} is found in ${value}.`,
  },
];

/** Words that make a statement something else: a condition, a wish, a report, a joke. */
const UNSURE =
  /\b(?:if|would|could|might|maybe|perhaps|suppose|imagine|pretend|hypothetically|used to|wish|almost|said|says|told|wrote|writes|quote)\b/i;

export function factsIn({ index, text }: ExtractableMessage): readonly Fact[] {
  const found: Fact[] = [];
  for (const sentence of sentencesOf(text)) {
    if (UNSURE.test(sentence)) continue;
    const statement = sentence.replace(OPENERS, "").replace(/(?<![.!])[.!]+$/, "");
    for (const rule of RULES) {
      const match = rule.pattern.exec(statement);
      if (match === null) continue;
      found.push(factOf(rule, match, sentence, index));
      break;
    }
  }
  return found;
}

function factOf(rule: Rule, match: RegExpExecArray, quote: string, message: number): Fact {
  const value = (match.at(-1) ?? "").trim();
  const { type, attribute, subject = "user", many, text } = rule;
  return {
    type,
    subject: typeof subject === "function" ? subject(match) : subject,
    attribute: typeof attribute === "function" ? attribute(match) : attribute,
    value,
    text: text(value, match),
    quote,
    message,
    // The patterns are plain statements and wishes; the gate looks for the rest.
    review: false,
    ...(many === true && { many }),
  };
}

const LONGEST_TEXT = 8_000;

/** Tables and headings are no statements, and a question states nothing. */
function sentencesOf(text: string): readonly string[] {
  return ownWords(text.slice(0, LONGEST_TEXT))
    .replace(/^[^\S\r\n\u2028\u2029]*(?:\||#).*$/gm, "")
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.length >= 5 && sentence.length <= 300 && !/[?:"\u201c\u201d<>{}]/.test(sentence));
}
