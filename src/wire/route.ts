import { JSON_TYPE, type Scope } from "./protocol.ts";
import type { ParameterKind, SchemaName } from "./schemas.ts";

export interface QueryParameter {
  readonly name: string;
  readonly means: string;
  readonly schema: ParameterKind;
  readonly required?: boolean;
}

/**
 * One operation of the service. Every fact about it stands here and nowhere else:
 * the server routes and authorises by it, the client calls by it, the tests try
 * every way in that it does not allow, and OpenAPI is generated from it.
 */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** `{thread}` and `{checkpoint}` are ids in base64url; see names.ts. */
  readonly path: string;
  /**
   * Who may call it: any client, any client with a token, or only one whose token has
   * that scope.
   */
  readonly access: "public" | "any token" | Scope;
  /** What it is about. A service keeps threads, items or both; of what it does not keep the answer is UNSUPPORTED. */
  readonly facet?: Facet;
  readonly means: string;
  readonly query?: readonly QueryParameter[];
  /** "required" demands If-Match or If-None-Match: *; "optional" accepts an If-Match. */
  readonly precondition?: "required" | "optional";
  /** `maxBytes` where a smaller limit than the service's is enough. */
  readonly request?: { readonly type: string; readonly schema: SchemaName; readonly maxBytes?: number };
  /** The answer carries the thread's place as its ETag, and If-Match and If-None-Match apply. */
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
