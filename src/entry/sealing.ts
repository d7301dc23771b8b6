/** Encryption of what is stored, and the keys for it. */
export {
  createKeyFile,
  environmentKeys,
  fileKeys,
  type KeyProvider,
  newOuterKey,
  type WrappedKey,
} from "../sealing/key-provider.ts";
export { type KeyedPerson, Keyring } from "../sealing/keyring.ts";
export type { KeyringOptions } from "../sealing/keyring-options.ts";
export { type OciVaultClient, type OciVaultOptions, ociVaultKeys } from "../sealing/oci-vault.ts";
export type { RotationOptions, RotationReport } from "../sealing/rotation.ts";
export { Sealing, type SealingOptions } from "../sealing/sealing.ts";
