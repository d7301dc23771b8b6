import { assertParameters } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";
import { Checkpointer } from "../checkpointer.ts";
import { type CheckpointerOptions, contextOf } from "../context.ts";
import { checkedPrefix } from "./layout.ts";
import type { BucketLog } from "./log.ts";

/** What every checkpointer on a bucket takes. */
export interface BucketCheckpointerOptions extends CheckpointerOptions {
  /** The prefix of all object names. @default "holdfast/" */
  readonly prefix?: string;
  /** The time limit of one request, including its answer. @default 30000 */
  readonly requestTimeoutMs?: number;
}

export const BUCKET_KINDS = { prefix: "string", requestTimeoutMs: "number" } as const;

export const DEFAULT_PREFIX = "holdfast/";

/** The place in the bucket, and how long a request may take. `place` is the option that names the bucket. */
export function bucketTerms<Name extends string>(
  place: Name,
  { prefix = DEFAULT_PREFIX, requestTimeoutMs = 30_000, ...options }: BucketCheckpointerOptions & Record<Name, unknown>,
): { readonly prefix: string; readonly requestTimeoutMs: number } {
  const named: unknown = (options as Readonly<Record<string, unknown>>)[place];
  if (typeof named !== "string" || named === "") {
    const what = place.replace(/Name$/, "");
    throw new StateError("INVALID_ARGUMENT", `the option "${place}" must be the name of a ${what}`);
  }
  if (!(requestTimeoutMs > 0)) {
    throw new StateError("INVALID_ARGUMENT", 'the option "requestTimeoutMs" must be greater than 0');
  }
  return { prefix: checkedPrefix(prefix), requestTimeoutMs };
}

/** A checkpointer whose threads lie in a bucket. */
export abstract class BucketCheckpointer extends Checkpointer {
  readonly #log: BucketLog;

  constructor(log: BucketLog, options: CheckpointerOptions) {
    super(log, options);
    this.#log = log;
  }

  /**
   * Deletes objects that belong to no thread: left by processes that died in the
   * middle of a change, or by a rule of the storage that expired a thread. Safe at any
   * time; lists the whole prefix.
   */
  async removeLeftovers(): Promise<void> {
    contextOf(this)?.assertMayWrite("removeLeftovers");
    await this.#log.removeLeftovers();
  }
}

export interface BucketUrl {
  /** The bucket, table or whatever the URL names where another has its host. */
  readonly place: string;
  readonly prefix: { readonly prefix?: string };
  readonly parameters: Readonly<Record<string, string>>;
}

/** `scheme://place/prefix?parameter=…`. Keys do not belong into it: `keys` says where they do. */
export function parseBucketUrl(
  url: string,
  { example, keys, known }: { readonly example: string; readonly keys: string; readonly known: readonly string[] },
): BucketUrl {
  const scheme = example.slice(0, example.indexOf(":"));
  const { host, pathname, searchParams, username, password } = URL.canParse(url) ? new URL(url) : NO_URL;
  if (username !== "" || password !== "") {
    throw new StateError("INVALID_ARGUMENT", `an ${scheme} URL takes no keys; ${keys}`);
  }
  const parameters = Object.fromEntries(searchParams);
  assertParameters(url, parameters, known);
  if (host === "") throw new StateError("INVALID_ARGUMENT", `an ${scheme} URL needs a bucket: ${example}`);
  const prefix = decodeURIComponent(pathname).replace(/^\//, "");
  return { place: decodeURIComponent(host), prefix: prefix === "" ? {} : { prefix }, parameters };
}

/** A parameter of a URL that is `true` or `false`, as an option. */
export function truth<Name extends string>(
  name: Name,
  text: string | undefined,
): { readonly [name in Name]?: boolean } {
  if (text === undefined) return {};
  if (text === "true" || text === "false") return { [name]: text === "true" } as { readonly [name in Name]?: boolean };
  throw new StateError("INVALID_ARGUMENT", `${name} in a URL must be true or false`);
}

/** For a text that is not a URL: it names no bucket. */
const NO_URL = { host: "", pathname: "", username: "", password: "", searchParams: new URLSearchParams() };
