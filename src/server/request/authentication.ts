import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { SCOPES, type Scope } from "../../wire/protocol.ts";
import { assertKnown, invalid } from "./option-rules.ts";
import { Refusal } from "./refusal.ts";

/** What the service keeps of a token: enough to know it again, too little to use it. */
export interface TokenEntry {
  /** SHA-256 of the token, in hexadecimal. `createToken()` makes both. */
  readonly sha256: string;
  readonly scopes: readonly Scope[];
  /**
   * Whose threads the token reaches: letters, digits, `_`, `.` and `-`, at most
   * 63. Tenants see nothing of each other. Either every token names one or none
   * does; without tenants, all tokens share the whole store.
   */
  readonly tenant?: string;
}

/** Who asks. */
export interface Principal {
  /** Tells tokens apart without being one. */
  readonly key: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly tenant: string | undefined;
  /** Whose share of the service a request uses: its tenant's, or its token's where tokens name no tenants. */
  readonly owner: string;
}

export interface NewToken {
  /** For the client: keep it as a password is kept. It cannot be read back from the service. */
  readonly token: string;
  /** For the service. */
  readonly sha256: string;
}

/** A token of 256 random bits, and the entry that the service stores for it. */
export function createToken(): NewToken {
  const token = `hf_${randomBytes(32).toString("base64url")}`;
  return { token, sha256: digestOf(token).toString("hex") };
}

const digestOf = (token: string): Buffer => createHash("sha256").update(token, "utf8").digest();

/** 43 letters of base64url hold 256 bits: whatever is shorter was not made as it should be. */
const TOKEN = /^[A-Za-z0-9._~+/=-]{43,512}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const TENANT = /^[A-Za-z0-9_.-]{1,63}$/;

/** Without any tokens, every caller that reaches the service may do everything. */
const FULL_ACCESS: Principal = { key: "no token", scopes: new Set(SCOPES), tenant: undefined, owner: "no token" };

export class Authentication {
  readonly #known: readonly { readonly digest: Buffer; readonly principal: Principal }[] | undefined;

  constructor(tokens: readonly TokenEntry[] | undefined) {
    if (tokens === undefined) return;
    if (!Array.isArray(tokens) || tokens.length === 0) throw invalid("auth.tokens must list at least one token");
    for (const entry of tokens) assertEntry(entry);
    const named = tokens.filter(({ tenant }) => tenant !== undefined).length;
    if (named !== 0 && named !== tokens.length) {
      throw invalid("either every token names a tenant or none does: one without would reach into all of them");
    }
    this.#known = tokens.map((entry) => ({
      digest: Buffer.from(entry.sha256, "hex"),
      principal: principalOf(entry),
    }));
    if (new Set(tokens.map(({ sha256 }) => sha256)).size !== tokens.length)
      throw invalid("auth.tokens lists a token twice");
  }

  /** Who the value of `Authorization` belongs to; refuses whatever it does not know. */
  principalOf(authorization: string | null): Principal {
    if (this.#known === undefined) return FULL_ACCESS;
    if (authorization === null) {
      throw refused("no token came with the request; this service wants Authorization: Bearer <token>");
    }
    const [, token = ""] = /^Bearer +([^\s]+)$/i.exec(authorization) ?? [];
    const digest = digestOf(TOKEN.test(token) ? token : "");
    // Every entry is compared, so that the time tells nothing about which one was nearly right.
    let found: Principal | undefined;
    for (const { digest: known, principal } of this.#known) if (timingSafeEqual(known, digest)) found = principal;
    if (found === undefined) throw refused("this token is not known here");
    return found;
  }
}

function assertEntry(entry: TokenEntry): void {
  assertKnown(entry, { sha256: "string", scopes: "object", tenant: "string" }, "auth.tokens[]");
  const { sha256, scopes, tenant } = entry;
  // The value itself is not repeated: a token that was put here by mistake must not be shown.
  if (typeof sha256 !== "string" || !SHA256.test(sha256)) {
    throw invalid("a token's sha256 must be 64 hexadecimal digits, as createToken() gives it; never the token itself");
  }
  if (!Array.isArray(scopes) || scopes.length === 0 || !scopes.every((scope) => SCOPES.includes(scope))) {
    throw invalid(`a token's scopes must be some of ${SCOPES.join(", ")}`);
  }
  if (tenant !== undefined && (typeof tenant !== "string" || !TENANT.test(tenant))) {
    throw invalid("a tenant is 1 to 63 letters, digits, dots, hyphens and underscores");
  }
}

const principalOf = ({ sha256, scopes, tenant }: TokenEntry): Principal => ({
  key: sha256,
  scopes: new Set(scopes),
  tenant,
  owner: tenant ?? sha256,
});

const refused = (message: string): Refusal =>
  new Refusal("PERMISSION_DENIED", message, {
    status: 401,
    headers: { "www-authenticate": 'Bearer realm="holdfast"' },
  });
