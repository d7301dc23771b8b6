import { readFile } from "node:fs/promises";
import { redact } from "../internal/redact.ts";
import { UsageError } from "./exit-codes.ts";

/** A store as it was named on the command line, made a URL. */
export function storeUrlOf(named: string, env: Readonly<Record<string, string | undefined>>): string {
  if (!/^env:/i.test(named)) return named;
  const name = named.slice(4);
  if (!/^\w{1,128}$/.test(name)) throw new UsageError("env: takes the name of a variable, as in env:DATABASE_URL");
  const url = env[name];
  if (url === undefined || url === "") throw new UsageError(`the variable ${name} is not set`);
  return url;
}

/** The secrets in a URL, as they are written and as they are decoded. */
export function secretsIn(url: string): readonly string[] {
  const [, authority = ""] = /^[^:/?#]*:\/\/([^/?#]*)@/.exec(url) ?? [];
  const password = authority.slice(authority.indexOf(":") + 1);
  if (!authority.includes(":") || password === "") return [];
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

/** A URL that others may read: where the store is, and nothing that opens it. */
export const withoutSecrets = (url: string): string =>
  redact(url.replace(/^([^:/?#]+:\/\/)[^/?#]*@/, "$1"), secretsIn(url));

/** The URL of a service with its token, where that comes from a file or a variable. */
export async function withToken(
  url: string,
  file: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) {
    if (file !== undefined) throw new UsageError("--token-file is for http and https stores");
    return url;
  }
  const token = file === undefined ? env["HOLDFAST_TOKEN"] : (await fileText(file)).trim();
  if (token === undefined || token === "" || new URL(url).password !== "") return url;
  const withIt = new URL(url);
  withIt.password = encodeURIComponent(token);
  return withIt.href;
}

/** A file that a person named. */
export async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`the file ${JSON.stringify(path)} cannot be read (${code ?? "no reason was given"})`);
  }
}
