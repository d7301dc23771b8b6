import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { StateError } from "../../errors.ts";
import { environmentValue, type ProviderOptions } from "../../models/provider.ts";

export type OciProfile = Readonly<Record<string, string>>;

export interface ConfigLocation {
  readonly file: string;
  readonly profile: string;
}

/** Under the names that the OCI command line uses. */
export function configLocation(options: ProviderOptions): ConfigLocation {
  return {
    file: underHome(environmentValue(options, "OCI_CONFIG_FILE", "OCI_CLI_CONFIG_FILE") ?? "~/.oci/config"),
    profile: environmentValue(options, "OCI_CLI_PROFILE") ?? "DEFAULT",
  };
}

export const underHome = (path: string): string => (/^~(?:[/\\]|$)/.test(path) ? join(homedir(), path.slice(1)) : path);

/** A profile of the file; what it does not say is taken from the profile DEFAULT. */
export async function readProfile(location: ConfigLocation, options: { readonly required: true }): Promise<OciProfile>;
export async function readProfile(
  location: ConfigLocation,
  options: { readonly required: boolean },
): Promise<OciProfile | undefined>;
export async function readProfile(
  { file, profile }: ConfigLocation,
  { required }: { readonly required: boolean },
): Promise<OciProfile | undefined> {
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    if (!required && cause.code === "ENOENT") return undefined;
    throw new StateError(
      "INVALID_ARGUMENT",
      `oci: ${file} cannot be read (${cause.code}); create it with \`oci setup config\`, or set OCI_GENAI_API_KEY`,
      { cause },
    );
  });
  if (text === undefined) return undefined;
  const profiles = parseProfiles(text);
  const chosen = profiles.get(profile);
  if (chosen === undefined && required) {
    throw new StateError(
      "INVALID_ARGUMENT",
      `oci: ${file} has no profile ${JSON.stringify(profile)}; see OCI_CLI_PROFILE`,
    );
  }
  return { ...profiles.get("DEFAULT"), ...chosen };
}

function parseProfiles(text: string): ReadonlyMap<string, OciProfile> {
  const profiles = new Map<string, Record<string, string>>();
  let current: Record<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, section] = /^\s*\[([^\]]+)\]\s*$/.exec(line) ?? [];
    const equals = line.indexOf("=");
    const key = line.slice(0, Math.max(0, equals)).trim();
    if (section !== undefined) {
      current = Object.create(null) as Record<string, string>;
      profiles.set(section.trim(), current);
    } else if (current !== undefined && key !== "" && !/^[#;]/.test(key)) current[key] = line.slice(equals + 1).trim();
  }
  return profiles;
}
