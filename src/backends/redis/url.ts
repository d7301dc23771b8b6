import { assertAddress } from "../../driver/url.ts";
import { StateError } from "../../errors.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The address of a server and the credentials. */
export interface Place extends Address {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly tls: boolean;
}

const SCHEMES: Readonly<Record<string, boolean>> = {
  "redis:": false,
  "rediss:": true,
  "valkey:": false,
  "valkeys:": true,
};

/** `redis://user:password@host:6379/0`; `rediss` for TLS; `valkey` and `valkeys` mean the same. */
export function parseUrl(url: string): { place: Place; parameters: Readonly<Record<string, string>> } {
  assertAddress(url);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const tls = parsed && (Object.hasOwn(SCHEMES, parsed.protocol) ? SCHEMES[parsed.protocol] : undefined);
  const database = /^\/?(\d*)$/.exec(parsed?.pathname ?? "")?.[1];
  if (parsed === undefined || tls === undefined || database === undefined || parsed.hostname === "") {
    const shape = "redis://user:password@host:6379/0, with special characters of the password %-escaped";
    throw new StateError("INVALID_ARGUMENT", `this is no Redis URL (it is not shown); write ${shape}`);
  }
  return {
    place: {
      host: parsed.hostname.replace(/^\[|\]$/g, ""),
      port: parsed.port === "" ? 6379 : Number(parsed.port),
      username: decoded(parsed.username),
      password: decoded(parsed.password),
      database: Number(database),
      tls,
    },
    parameters: Object.fromEntries(parsed.searchParams),
  };
}

function decoded(text: string): string | undefined {
  if (text === "") return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StateError("INVALID_ARGUMENT", "the user or password of a Redis URL holds a broken %-escape");
  }
}
