import { createHash, createVerify, generateKeyPairSync, type KeyObject } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** A user that the stand-in knows. */
export interface StandInUser {
  readonly tenancy: string;
  readonly user: string;
  readonly fingerprint: string;
  /** PEM. */
  readonly privateKey: string;
  readonly publicKey: string;
}

export const newUser = (): StandInUser => ({
  tenancy: "ocid1.tenancy.oc1..standin",
  user: "ocid1.user.oc1..standin",
  fingerprint: "20:3b:97:13:55:1c:5b:0d:d3:37:d8:50:4e:c5:3a:34",
  ...generateKeyPairSync("rsa", {
    // The service takes no key this short. The tests sign some hundred thousand requests.
    modulusLength: 512,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }),
});

export const keyIdOf = ({ tenancy, user, fingerprint }: StandInUser): string => `${tenancy}/${user}/${fingerprint}`;

const LONGEST_SKEW_MS = 5 * 60 * 1000;

/** Why a request is not to be trusted; `undefined` when its signature is sound. `keyId` is who may sign. */
export function faultInSignature(
  request: IncomingMessage,
  body: Buffer,
  { publicKey, keyId }: { readonly publicKey: KeyObject; readonly keyId: string },
): string | undefined {
  const { authorization = "" } = request.headers;
  if (!authorization.startsWith("Signature ")) return "not signed";
  const fields: Readonly<Record<string, string>> = Object.fromEntries(
    [...authorization.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  if (fields["version"] !== "1" || fields["algorithm"] !== "rsa-sha256") return "signed in another way";
  if (fields["keyId"] !== keyId) return "an unknown key";
  const signed = fields["headers"]?.toLowerCase().split(" ") ?? [];
  const missing = mustBeSigned(request, signed).find((name) => !signed.includes(name));
  if (missing !== undefined) return `${missing} is not signed`;
  const text = signed.map((name) => `${name}: ${signedValue(request, name)}`).join("\n");
  const isSound = createVerify("RSA-SHA256")
    .update(text)
    .verify(publicKey, fields["signature"] ?? "", "base64");
  if (!isSound) return "the signature is not that of the request";
  const date = Date.parse(String(request.headers["x-date"] ?? request.headers.date));
  if (!(Math.abs(Date.now() - date) < LONGEST_SKEW_MS)) return "the date is too far off";
  const hash = createHash("sha256").update(body).digest("base64");
  return signed.includes("x-content-sha256") && request.headers["x-content-sha256"] !== hash
    ? "another body"
    : undefined;
}

/** The service does not ask for the hash of a body where an object is put: it may be a stream. */
function mustBeSigned({ method = "", url = "" }: IncomingMessage, signed: readonly string[]): readonly string[] {
  const always = [signed.includes("date") ? "date" : "x-date", "(request-target)", "host"];
  const isObject = /^\/n\/[^/]+\/b\/[^/]+\/o\//.test(url);
  const hasBody = method === "POST" || (method === "PUT" && !isObject);
  return hasBody ? [...always, "content-type", "content-length", "x-content-sha256"] : always;
}

function signedValue(request: IncomingMessage, name: string): string {
  if (name === "(request-target)") return `${request.method?.toLowerCase()} ${request.url}`;
  return String(request.headers[name]);
}
