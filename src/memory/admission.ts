import { ownWords } from "../state/own-words.ts";
import { isPlainObject } from "../state/values/doorway.ts";
import { isStopWord } from "../store/search/words.ts";
import type { ExtractableMessage } from "./extractor.ts";
import { type Fact, MEMORY_TYPES, type MemoryType } from "./memory.ts";

/** What becomes of something that an extractor found. */
export type Verdict =
  | {
      readonly decision: "store" | "review";
      readonly fact: Fact;
      readonly message: ExtractableMessage;
      /** Where in the message the quote ends: of two facts in one message, the later one corrects the earlier. */
      readonly offset: number;
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
 * talked into something, so the rules need no model: the fact names a message
 * that was shown to it, quotes its words, and is of a kind that such a message
 * may tell. A model's own doubt (`Fact.review`) can only add to them.
 */
export function admit(found: unknown, messages: readonly ExtractableMessage[], reviewAll: boolean): Verdict {
  const fault = faultIn(found);
  if (fault !== undefined) return refuse(fault);
  const fact = cleaned(found as Fact);
  const message = messages.find(({ index }) => index === fact.message);
  if (message === undefined) return refuse("it cites a message that it was not shown");
  const quote = withSingleSpaces(fact.quote);
  const start = withSingleSpaces(message.text).lastIndexOf(quote);
  if (start < 0) return refuse("its quote is not in the message that it cites");
  const isPersonal = fact.type === "user" || fact.type === "feedback";
  if (isPersonal && message.role !== "user")
    return refuse(`only the user's own words can tell a "${fact.type}" memory`);
  const isPasted = message.role === "user" && !withSingleSpaces(ownWords(message.text)).includes(quote);
  if (isPersonal && isPasted) return refuse("it quotes what the user pasted, not what the user said");
  const offset = start + quote.length;
  const review = (reason: string): Verdict => ({ decision: "review", fact, message, offset, reason });
  if (message.role !== "user") return review("the assistant said it, not the user");
  if (isPasted) return review("it quotes what the user pasted, not what the user said");
  const doubt = reasonForDoubt(fact) ?? doubtOfExtractor(fact.type, (found as Fact).review);
  if (doubt !== undefined) return review(doubt);
  if (reviewAll) return review("every memory is reviewed");
  return { decision: "store", fact, message, offset, reason: "the user said it" };
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

/** How the assistant is to work needs a plain "no" from the extractor: it is read in every later conversation. */
function doubtOfExtractor(type: MemoryType, review: boolean | undefined): string | undefined {
  if (review === true) return "its extractor asks for a review";
  const isUnsaid = type === "feedback" && review !== false;
  return isUnsaid ? "it tells the assistant what to do, and its extractor does not say that it is harmless" : undefined;
}

/** Only the known fields, on one line each. */
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
  const isSecret = SECRET.test(words) || SECRET_IN_WORD.test(words) || SECRET_VALUE.test(value);
  if (isSecret || isCode(value) || isSeedPhrase(value)) return "it looks like a credential";
  return ORDER.test(words) ? "it reads like an instruction to the assistant's machinery" : undefined;
}

/** What is a code and nothing else: "4711", "hunter2", "q7-PLx9". Years, dates, times, short numbers and "stage-2" are not. */
function isCode(value: string): boolean {
  const tokens = value.split(" ");
  return tokens.every((token) => /\d/.test(token)) && tokens.some(isCodeToken);
}

const isCodeToken = (token: string): boolean =>
  /^\d{4,}$/.test(token)
    ? !/^(?:19|20)\d\d$/.test(token)
    : /\p{L}/u.test(token) && token.length >= 6 && !/^\p{L}+-\d{1,3}$/u.test(token);

const SHORTEST_SEED = 10;

/** Short words in a row of which hardly any makes a sentence of them, as wallets hand them out. */
function isSeedPhrase(value: string): boolean {
  let [row, binding] = [0, 0];
  for (const word of value.split(" ")) {
    const isShort = /^[a-z]{3,8}$/.test(word);
    row = isShort ? row + 1 : 0;
    binding = isShort ? binding + (isStopWord(word) ? 1 : 0) : 0;
    if (row >= SHORTEST_SEED && binding * 5 <= row) return true;
  }
  return false;
}

/** By name, in the languages of most users. A model that extracts knows the rest (`Fact.review`). */
const SECRET =
  /(?<!\p{L})(?:pass(?:word|phrase|code)|api[ _-]?key|access[ _-]?key|private[ _-]?key|secret|token|credentials?|pin|cvv|cvc|iban|(?:credit|debit)[ _-]card|social security|ssn|(?:door|gate|entry|access|alarm|safe|lock|security|backup|recovery|verification|2fa|one[ -]time) codes?|otp|2fa|two[ -]factor|(?:seed|recovery) (?:phrase|words)|mot de passe|mdp|code (?:secret|d['’]acc[eè]s|pin|de (?:la )?porte)|phrase secr[eè]te|contrase[nñ]a|clave|c[oó]digo (?:de acceso|secreto|de la puerta)|senha|palavra[ -]passe|c[oó]digo de acesso|parola d['’]ordine|codice (?:segreto|di accesso|della porta)|wachtwoord|toegangscode|pincode|l[oö]senord|portkod|passord|adgangskode|kodeord|salasana|has[lł]o|heslo|jelsz[oó]|parol[aă]|[sş]ifre|пароль|код (?:двери|доступа|домофона)|пін-?код|пин-?код|κωδικός|סיסמה|كلمة (?:السر|المرور)|पासवर्ड|m[aậ]t kh[aẩ]u|kata sandi)(?!\p{L})/iu;
/** In compounds, and in writing without spaces. */
const SECRET_IN_WORD =
  /passwor|kennwor|passphras|geheimzahl|geheimwort|zugangscode|zugangsdaten|t(?:ü|ue)rcode|sicherheitscode|wiederherstellungs|密码|密碼|口令|验证码|驗證碼|助记词|暗証番号|パスワード|合言葉|비밀번호|암호|รหัสผ่าน/iu;
const SECRET_VALUE =
  /\b(?:sk|pk|ghp|gho|xox[abp]|AKIA|eyJ)[-_A-Za-z0-9]{12,}|-----BEGIN |\b(?:\d[ -]?){13,19}\b|(?<!\S)(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])\S{24,}/;
const ORDER =
  /\b(?:ignore|disregard|forget|override|bypass|ignorier\w*|vergiss|umgeh\w*|ignore[zr]|oublie[zr]?|contourne[zr]?|ignora\w*|olvida\w*|omite|dimentica\w*|esque[cç]a)\b.{0,40}\b(?:previous|prior|earlier|above|all|any|your|the|alle[sn]?|vorherigen?|bisherigen?|deine|toutes?|tous|pr[eé]c[eé]dentes?|tes|todas?|anteriores|tus|tutt[ei]|precedenti)\b.{0,40}\b(?:instructions?|rules?|prompts?|messages?|guidelines?|safety|approvals?|restrictions?|anweisung(?:en)?|regeln|vorgaben|freigaben?|consignes|r[eè]gles|validations?|instrucciones|reglas|aprobaci[oó]n(?:es)?|istruzioni|regole|instru[cç][oõ]es|regras)\b|\bsystem[ -]?prompt\b|\byou are now\b|\bdeveloper mode\b|\bwithout (?:asking|approval|confirmation|telling)\b|\bohne (?:(?:zu|nach)\s?\w*fragen|r(?:ü|ue)ckfrage|freigabe|best(?:ä|ae)tigung)|\bsans (?:demander|validation|confirmation|approbation|pr[eé]venir)|\bsin (?:preguntar|aprobaci[oó]n|confirmaci[oó]n|avisar)|\bsenza (?:chiedere|approvazione|conferma)|\bexfiltrat|\bsend (?:all|every|the) .{0,40}\bto\b.{0,40}(?:https?:|@)/iu;
