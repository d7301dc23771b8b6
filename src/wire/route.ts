import { JSON_TYPE, type Scope } from "./protocol.ts";
import type { ParameterKind, SchemaName } from "./schemas.ts";

export interface QueryParameter {
  readonly name: string;
  readonly means: string;
  readonly schema: ParameterKind;
  readonly required?: boolean;
}

/**
 * One operation of the service. Everything that is true of it stands here and
 * nowhere else: the server routes and authorises by it, the client asks by it,
 * the tests try every way in that it does not open, and OpenAPI is written from it.
 */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** `{thread}` and `{checkpoint}` are ids in base64url; see names.ts. */
  readonly path: string;
  /** Who may: anybody; whoever has a token, whatever its scopes; or only with that scope. */
  readonly access: "public" | "any token" | Scope;
  /** What it is about. A service keeps threads, items or both; of what it does not keep the answer is UNSUPPORTED. */
  readonly facet?: Facet;
  readonly means: string;
  readonly query?: readonly QueryParameter[];
  /** "required" asks for If-Match, or If-None-Match: *; "optional" takes an If-Match. */
  readonly precondition?: "required" | "optional";
  /** `maxBytes` where less is enough than the service takes elsewhere. */
  readonly request?: { readonly type: string; readonly schema: SchemaName; readonly maxBytes?: number };
  /** Its answer carries the place of the thread as ETag, and may be asked for with If-Match and If-None-Match. */
  readonly isTagged?: boolean;
  readonly answers: readonly RouteAnswer[];
}

export type Facet = "threads" | "items";

export interface RouteAnswer {
  readonly status: number;
  readonly means: string;
  readonly type: string;
  readonly schema: SchemaName;
}

export const json = (schema: SchemaName, means: string, status = 200): RouteAnswer => ({
  status,
  means,
  type: JSON_TYPE,
  schema,
});

export const absent: RouteAnswer = json("Absent", "It is not there");
