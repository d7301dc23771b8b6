import { StateError } from "../errors.ts";
import { isPlainObject } from "./values/doorway.ts";

/** Where a secret can be found, to be stored in a state instead of the secret. */
export interface SecretRef {
  readonly "holdfast:secret": string;
}

const SECRET = "holdfast:secret";

/** A reference to a secret by its name: `state.withMetadata({ apiKey: secretRef("CRM_API_KEY") })`. */
export function secretRef(name: string): SecretRef {
  if (typeof name !== "string" || name === "") {
    throw new StateError("INVALID_ARGUMENT", "a secret is referred to by its name, such as CRM_API_KEY");
  }
  return { [SECRET]: name };
}

export const isSecretRef = (value: unknown): value is SecretRef =>
  isPlainObject(value) && typeof value[SECRET] === "string" && Object.keys(value).length === 1;

/** Looks a secret up by its name. */
export type SecretSource = (name: string) => string | undefined | Promise<string | undefined>;

/** The secret itself, for the moment it is needed: keep it out of states and results. @default source: the environment */
export async function resolveSecret(
  ref: SecretRef,
  source: SecretSource = (name) => process.env[name],
): Promise<string> {
  if (!isSecretRef(ref)) throw new StateError("INVALID_ARGUMENT", "resolveSecret() takes what secretRef() returned");
  const secret = await source(ref[SECRET]);
  if (secret !== undefined) return secret;
  throw new StateError("NOT_FOUND", `there is no secret named ${JSON.stringify(ref[SECRET])}`);
}

/** Called by a save for every text that it is about to write. Returns the text to write, or throws. */
export type Redactor = (text: string) => string;

/** Puts the mark in the place of every secret of one shape. */
type Hiding = (text: string, mark: string) => string;

const shaped =
  (shape: RegExp): Hiding =>
  (text, mark) =>
    text.replace(shape, mark);

/**
 * Secrets that begin somewhere within a longer run of characters. Each run is looked at once, at the first place where
 * one may begin: a pattern that began anew at each of them would read the rest of the run every time.
 */
const inRuns =
  (run: RegExp, beginning: RegExp, isSecret: (text: string) => boolean): Hiding =>
  (text, mark) =>
    text.replace(run, (found) => {
      const at = found.search(beginning);
      return at !== -1 && isSecret(found.slice(at)) ? found.slice(0, at) + mark : found;
    });

/** Secrets that are recognisable by their shape. No hash or id matches these. */
const SHAPES: readonly (readonly [name: string, hide: Hiding])[] = [
  ["private-key", shaped(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g)],
  ["api-key", inRuns(/[\w-]+/g, /\b(?:sk|pk|rk)[-_]/, (key) => key.length >= 23 && /\d/.test(key))],
  ["api-key", shaped(/\bAIza[A-Za-z0-9_-]{35}/g)],
  ["api-key", shaped(/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g)],
  [
    "token",
    shaped(
      /\b(?:gh[opsur]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|xox[a-z]-[A-Za-z0-9-]{10,})/g,
    ),
  ],
  ["token", inRuns(/(?<![\w-])(?=[\w-]*?\beyJ[\w-]{8})[\w-]+\.eyJ[\w-]{8,}\.[\w-]+/g, /\beyJ/, () => true)],
  ["token", shaped(/(?<=\b[Bb]earer )[A-Za-z0-9._~+/-]{20,}=*/g)],
  ["password", shaped(/(?<=\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/gi)],
];

/** Replaces a secret by a visible mark such as `[redacted:api-key]`. A resumed run no longer has what was redacted. */
export const redactSecrets: Redactor = (text) =>
  SHAPES.reduce((clean, [name, hide]) => hide(clean, `[redacted:${name}]`), text);

/** Refuses a save that contains a secret, so that nothing is lost silently. */
export const refuseSecrets: Redactor = (text) => {
  const [name] = SHAPES.find(([, hide]) => hide(text, "") !== text) ?? [];
  if (name === undefined) return text;
  throw new StateError(
    "INVALID_ARGUMENT",
    `what is to be saved holds a secret (${name}). Put a secretRef() in its place; nothing was written`,
    { written: "no" },
  );
};

/** One text, as the redactor leaves it. */
export function redactText(text: string, redactor: Redactor): string {
  const clean = redactor(text);
  if (typeof clean !== "string") throw new TypeError("redact() returns the text as it is to be saved");
  return clean;
}
