import { invalid, optionsOf } from "../../driver/options.ts";
import { reasonOf, StateError } from "../../errors.ts";
import { KEY_BYTES } from "./box.ts";
import type { KeyProvider, WrappedKey } from "./key-provider.ts";

/** What is used of the SDK's `KmsCryptoClient` (`oci-keymanagement`). */
export interface OciVaultClient {
  encrypt(request: {
    readonly encryptDataDetails: {
      readonly keyId: string;
      readonly plaintext: string;
      readonly associatedData: { readonly [name: string]: string };
    };
  }): Promise<{ readonly encryptedData: { readonly ciphertext: string } }>;
  decrypt(request: {
    readonly decryptDataDetails: {
      readonly keyId: string;
      readonly ciphertext: string;
      readonly associatedData: { readonly [name: string]: string };
    };
  }): Promise<{ readonly decryptedData: { readonly plaintext: string } }>;
}

export interface OciVaultOptions {
  /** `new KmsCryptoClient(…)` of `oci-keymanagement`, with the crypto endpoint of the vault. */
  readonly client: OciVaultClient;
  /** The OCID of a symmetric (AES) key. A keyring that was wrapped with an earlier one still names that one. */
  readonly keyId: string;
}

/** Outermost keys in OCI Vault. They never leave it: the keyring's master keys are sent there to be wrapped and unwrapped. */
export function ociVaultKeys(options: OciVaultOptions): KeyProvider {
  const { client, keyId } = optionsOf("ociVaultKeys", options, { client: true, keyId: true });
  if (typeof client?.encrypt !== "function" || typeof client.decrypt !== "function") {
    throw new TypeError("ociVaultKeys({ client }) takes a KmsCryptoClient of oci-keymanagement");
  }
  if (typeof keyId !== "string" || keyId === "") throw invalid("ociVaultKeys(): keyId is the OCID of a key");
  const name = `OCI Vault, key ${keyId}`;
  const placed = (place: Uint8Array) => ({ place: Buffer.from(place).toString("base64") });
  return {
    name,
    async wrap(key, place): Promise<WrappedKey> {
      const plaintext = Buffer.from(key).toString("base64");
      const encryptDataDetails = { keyId, plaintext, associatedData: placed(place) };
      const { encryptedData } = await asked(name, () => client.encrypt({ encryptDataDetails }));
      return { by: keyId, wrapped: encryptedData.ciphertext };
    },
    async unwrap({ by, wrapped }, place) {
      const decryptDataDetails = { keyId: by, ciphertext: wrapped, associatedData: placed(place) };
      const { decryptedData } = await asked(`OCI Vault, key ${by}`, () => client.decrypt({ decryptDataDetails }));
      const key = Buffer.from(decryptedData.plaintext, "base64");
      if (key.byteLength === KEY_BYTES) return key;
      throw new StateError("CORRUPT", `${name} answered with something that is no key`);
    },
  };
}

async function asked<Answer>(name: string, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (cause) {
    const { statusCode } = cause as { statusCode?: unknown };
    // A key that was deleted or disabled, or belongs to another tenancy, is a 404 there, as is one that may not be used.
    const isRefused = typeof statusCode === "number" && statusCode >= 400 && statusCode < 500 && statusCode !== 429;
    const code = statusCode === 429 ? "RATE_LIMITED" : isRefused ? "PERMISSION_DENIED" : "UNAVAILABLE";
    throw new StateError(code, `${name}: ${reasonOf(cause)}. Nothing was written`, { cause });
  }
}
