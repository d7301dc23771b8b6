import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { StateError } from "../../errors.ts";
import { type ConfigLocation, type OciProfile, readProfile, underHome } from "./config-file.ts";

export interface SigningCredentials {
  readonly keyId: string;
  readonly privateKey: KeyObject;
}

/**
 * What a request is signed with. Read anew for each request: a session's token
 * is renewed on disk while a program runs, and a request to a model takes
 * seconds anyway. Nothing that is in a key file goes into an error.
 */
export async function signingCredentials(location: ConfigLocation): Promise<SigningCredentials> {
  const profile = await readProfile(location, { required: true });
  const keyFile = underHome(entry(profile, "key_file", location));
  const [privateKey, keyId] = await Promise.all([readKey(keyFile, profile["pass_phrase"]), keyIdOf(profile, location)]);
  return { keyId, privateKey };
}

async function keyIdOf(profile: OciProfile, location: ConfigLocation): Promise<string> {
  const tokenFile = profile["security_token_file"];
  if (tokenFile !== undefined) return `ST$${(await readSecret(underHome(tokenFile))).trim()}`;
  return ["tenancy", "user", "fingerprint"].map((name) => entry(profile, name, location)).join("/");
}

function entry(profile: OciProfile, name: string, { file, profile: which }: ConfigLocation): string {
  const value = profile[name];
  if (value !== undefined && value !== "") return value;
  throw new StateError("INVALID_ARGUMENT", `oci: profile ${JSON.stringify(which)} in ${file} has no ${name}`);
}

async function readKey(file: string, passphrase: string | undefined): Promise<KeyObject> {
  const key = await readSecret(file);
  try {
    return createPrivateKey(passphrase === undefined ? key : { key, passphrase });
  } catch {
    throw new StateError(
      "INVALID_ARGUMENT",
      `oci: ${file} is not a private key in PEM form, or pass_phrase in the config file does not open it`,
    );
  }
}

async function readSecret(file: string): Promise<string> {
  return readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new StateError("INVALID_ARGUMENT", `oci: ${file}, named in the config file, cannot be read (${cause.code})`, {
      cause,
    });
  });
}
