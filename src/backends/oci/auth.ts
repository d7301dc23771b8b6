import { reasonOf, StateError } from "../../errors.ts";
import type { CommonModule, OciConnection } from "./connect.ts";

/**
 * Who signs the requests: a user's key from the config file, a session token from
 * `oci session authenticate`, an instance, a function or container; or your own
 * provider of the SDK.
 */
export type OciAuth = (typeof AUTH_KINDS)[number] | OciAuthenticationProvider;

export const AUTH_KINDS = ["config-file", "session-token", "instance-principal", "resource-principal"] as const;

/** What every `AuthenticationDetailsProvider` of the SDK has. */
export interface OciAuthenticationProvider {
  getKeyId(): Promise<string>;
  getPrivateKey(): string;
  getPassphrase(): string | null;
}

export async function authenticationProvider(common: CommonModule, connection: OciConnection): Promise<object> {
  const { auth = "config-file", configFile, profile } = connection;
  if (typeof auth === "object") return auth;
  try {
    switch (auth) {
      case "config-file":
        return new common.ConfigFileAuthenticationDetailsProvider(configFile, profile);
      case "session-token":
        return new common.SessionAuthDetailProvider(configFile, profile);
      case "instance-principal":
        return await new common.InstancePrincipalsAuthenticationDetailsProviderBuilder().build();
      case "resource-principal":
        return common.ResourcePrincipalAuthenticationDetailsProvider.builder();
    }
  } catch (cause) {
    throw new StateError("PERMISSION_DENIED", `no credentials of the kind "${auth}": ${reasonOf(cause)}`, { cause });
  }
}
