/** Encryption of what is stored, and the keys for it. */
export {
  createKeyFile,
  environmentKeys,
  fileKeys,
  type KeyProvider,
  newOuterKey,
  type WrappedKey,
} from "../sealing/keys/key-provider.ts";
export { type KeyedPerson, Keyring } from "../sealing/keys/keyring.ts";
export type { KeyringOptions } from "../sealing/keys/keyring-options.ts";
export { type OciVaultClient, type OciVaultOptions, ociVaultKeys } from "../sealing/keys/oci-vault.ts";
export type { RotationOptions, RotationReport } from "../sealing/keys/rotation.ts";
export { Sealing, type SealingOptions } from "../sealing/sealing.ts";
