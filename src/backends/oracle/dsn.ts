import { homedir } from "node:os";
import { join } from "node:path";
import { invalid } from "../../driver/options.ts";
import { assertAddress, assertParameters } from "../../driver/url.ts";

/** The forms of a `dsn`. The given one is never shown: a malformed DSN may hold a password anywhere. */
const FORMS =
  "dsn must be an alias of tnsnames.ora (mydb_low), host:1521/service, tcps://host:1522/service or (DESCRIPTION=…)";

/** Refuses what the client would repeat in its error, password included. */
export function assertDsn(dsn: string): void {
  if (/^\s*\(/.test(dsn)) {
    if (/\bpassword\b/i.test(dsn)) throw invalid(`${FORMS}; user and password are options of their own`);
    return;
  }
  const isAlias = /^[A-Za-z0-9_.$#-]+$/.test(dsn);
  const isEasyConnect = /^(?:tcps?:)?(?:\/\/)?[^\s@/()"']+(?:\/[^\s@/()"']*)*$/.test(dsn) && /[:/,]/.test(dsn);
  const isUrl = /^[a-z]+:\/\//.test(dsn) && !/^tcps?:\/\//.test(dsn);
  if ((isAlias || isEasyConnect) && !isUrl) return;
  throw invalid(`${FORMS}; user and password are options of their own`);
}

/** `~` is the home directory. The client does not expand it. */
export const expanded = (path: string): string => (/^~(?=\/|$)/.test(path) ? join(homedir(), path.slice(1)) : path);

const PARAMETERS = ["wallet", "walletPassword", "tableName", "protocol"];

/** The contents of a URL, by option names. */
export interface UrlParts {
  readonly dsn: string;
  readonly user?: string;
  readonly password?: string;
  readonly walletLocation?: string;
  readonly walletPassword?: string;
  readonly tableName?: string;
}

/** `oracle://user:password@host:1521/service` or `oracle://user:password@alias?wallet=/path`. */
export function partsOf(url: string): UrlParts {
  assertAddress(url);
  const [, authority = "", path = "", query = ""] = /^oracle:\/\/([^/?#]*)(\/[^?#]*)?\??(.*)$/s.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  assertParameters(url, Object.fromEntries(parameters), PARAMETERS);
  const at = authority.lastIndexOf("@");
  const [user = "", password = ""] = at === -1 ? [] : splitOnce(authority.slice(0, at));
  const host = authority.slice(at + 1);
  if (host === "")
    throw invalid("an oracle URL looks like oracle://user@host:1521/service or oracle://user@alias?wallet=/path");
  const wallet = parameters.get("wallet");
  const walletPassword = parameters.get("walletPassword");
  const tableName = parameters.get("tableName");
  return {
    dsn: dsnOf(host, path, parameters.get("protocol")),
    ...(user !== "" && { user: decodeURIComponent(user) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
    ...(wallet !== null && { walletLocation: wallet }),
    ...(walletPassword !== null && { walletPassword }),
    ...(tableName !== null && { tableName }),
  };
}

/** The same as options. What the URL lacks is taken from ORACLE_USER, ORACLE_PASSWORD and ORACLE_WALLET_PASSWORD. */
export function optionsOfUrl(url: string): Omit<UrlParts, "password"> & { readonly password: string | (() => string) } {
  const { env } = process;
  const { user = env["ORACLE_USER"], walletPassword = env["ORACLE_WALLET_PASSWORD"], ...parts } = partsOf(url);
  return {
    password: () => env["ORACLE_PASSWORD"] ?? "",
    ...parts,
    ...(user !== undefined && { user }),
    ...(walletPassword !== undefined && parts.walletLocation !== undefined && { walletPassword }),
  };
}

function dsnOf(host: string, path: string, protocol: string | null): string {
  const service = path.replace(/^\//, "");
  if (service === "" && !host.includes(":")) return host;
  if (protocol !== null && !/^tcps?$/.test(protocol)) throw invalid('protocol in an oracle URL is "tcp" or "tcps"');
  const prefix = protocol === null ? "" : `${protocol}://`;
  return `${prefix}${host.includes(":") ? host : `${host}:1521`}${service === "" ? "" : `/${service}`}`;
}

function splitOnce(credentials: string): readonly [string, string] {
  const colon = credentials.indexOf(":");
  return colon === -1 ? [credentials, ""] : [credentials.slice(0, colon), credentials.slice(colon + 1)];
}
