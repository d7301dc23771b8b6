import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { authenticationProvider, type OciAuth } from "./auth.ts";
import type { ObjectVersion } from "./older-versions.ts";
import type { HttpClientShape, OciTransport } from "./transport.ts";

/** The part of the SDK's `ObjectStorageClient` that is used here. */
export interface ObjectStorageClientShape {
  getNamespace(request: object): Promise<{ readonly value: string }>;
  createBucket(request: object): Promise<unknown>;
  getObject(
    request: object,
  ): Promise<{ readonly value?: unknown; readonly eTag?: string; readonly versionId?: string }>;
  putObject(request: object): Promise<{ readonly eTag?: string }>;
  deleteObject(request: object): Promise<unknown>;
  listObjects(request: object): Promise<{ readonly listObjects: ObjectListing }>;
  /** Without it, older versions of objects are left alone. */
  listObjectVersions?(request: object): Promise<VersionListing>;
  close?(): void;
}

interface VersionListing {
  readonly objectVersionCollection: { readonly items: readonly ObjectVersion[] };
  readonly opcNextPage?: string | null;
}

export interface ObjectListing {
  readonly objects: readonly { readonly name: string }[];
  readonly nextStartWith?: string | null;
}

export interface OciConnection {
  /** The region of the requests, like `eu-frankfurt-1`. @default that of the credentials */
  readonly region?: string;
  /** A full address instead, for a private endpoint. */
  readonly endpoint?: string;
  readonly auth?: OciAuth;
  /** The OCI config file. @default "~/.oci/config" */
  readonly configFile?: string;
  /** The profile in it. @default "DEFAULT" */
  readonly profile?: string;
}

export const SDK_VERSIONS = ">=2.90 <3";

/** The SDK's own client with the SDK's own signer, over a transport that keeps deadlines and prints nothing. */
export async function createClient(
  connection: OciConnection,
  transport: OciTransport,
): Promise<ObjectStorageClientShape> {
  const sdk = await importPeer<ObjectStorageModule>("oci-objectstorage", SDK_VERSIONS);
  const shared = await importPeer<CommonModule>("oci-common", SDK_VERSIONS);
  const provider = await authenticationProvider(shared, connection);
  transport.signer = signerOf(shared, provider);
  const client = new sdk.ObjectStorageClient(
    { authenticationDetailsProvider: provider, httpClient: transport },
    // Its circuit breaker would go on refusing requests after the service is back.
    { circuitBreaker: { noCircuit: true, circuit: null } },
  );
  if (connection.region !== undefined) client.regionId = connection.region;
  if (connection.endpoint !== undefined) client.endpoint = connection.endpoint;
  if (client.endpoint === "") {
    throw new StateError("INVALID_ARGUMENT", 'the credentials name no region; give the option "region"');
  }
  return client;
}

/** The cause is left out: it may quote the key. */
function signerOf(common: CommonModule, provider: object): NonNullable<OciTransport["signer"]> {
  try {
    return new common.DefaultRequestSigner(provider);
  } catch {
    const what = "the private key of the credentials cannot be used";
    throw new StateError("INVALID_ARGUMENT", `${what}: it must be an RSA key in PEM form, with the right pass phrase`);
  }
}

interface ObjectStorageModule {
  readonly ObjectStorageClient: new (
    parameters: { readonly authenticationDetailsProvider: unknown; readonly httpClient: HttpClientShape },
    configuration: object,
  ) => ObjectStorageClientShape & { regionId: string; endpoint: string };
}

/** The part of `oci-common` that is used here. */
export interface CommonModule {
  readonly DefaultRequestSigner: new (provider: unknown) => NonNullable<OciTransport["signer"]>;
  readonly ConfigFileAuthenticationDetailsProvider: new (file?: string, profile?: string) => object;
  readonly SessionAuthDetailProvider: new (file?: string, profile?: string) => object;
  readonly InstancePrincipalsAuthenticationDetailsProviderBuilder: new () => { build(): Promise<object> };
  readonly ResourcePrincipalAuthenticationDetailsProvider: { builder(): object };
}
