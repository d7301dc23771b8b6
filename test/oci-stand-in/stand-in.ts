import { createPublicKey, randomUUID } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { noticedByClients } from "../network/noticed-by-clients.ts";
import { type Answer, failure, StandInBucket } from "./buckets.ts";
import { faultInSignature, keyIdOf, newUser, type StandInUser } from "./signature.ts";

/** A request as tests see it. */
export interface StandInRequest {
  readonly method: string;
  /** "get object", "put object", "delete object", "delete version", "list", "list versions", "create bucket", "namespace". */
  readonly kind: string;
  /** The object's name; what is asked for otherwise. */
  readonly name: string;
  /** Bytes of the body that came. */
  readonly bytes: number;
}

/** What goes wrong with a request, before it took effect or after: an error, a cut connection, or no answer at all. */
export interface Fault {
  readonly when: "before" | "after";
  readonly answer: { readonly status: number; readonly code: string } | "cut" | "silence";
}

export interface StandInOptions {
  /** The most names in one page of a listing. @default 1000 */
  readonly mostListed?: number;
  readonly buckets?: readonly string[];
  /** Whether what is overwritten or deleted stays as an older version. @default false */
  readonly keepsVersions?: boolean;
}

const NAMESPACE = "standin";
const COMPARTMENT = "ocid1.compartment.oc1..standin";

/**
 * A stand-in for OCI Object Storage: an HTTP server on loopback, in memory, as
 * strict as the service is known to be where this project depends on it. It is
 * not the service. What it proves is that the real SDK, with real signatures,
 * is used in a way that is right if the service does what its documentation says.
 */
export class OciStandIn {
  readonly user: StandInUser = newUser();
  readonly namespace: string = NAMESPACE;
  readonly compartmentId: string = COMPARTMENT;
  readonly requests: StandInRequest[] = [];
  /** Asked for every request whose signature is sound. */
  faultAt: (request: StandInRequest) => Fault | undefined = () => undefined;
  /** In place of the user's own key id, for tokens. */
  keyId: string = keyIdOf(this.user);
  readonly #publicKey = createPublicKey(this.user.publicKey);
  readonly #buckets = new Map<string, StandInBucket>();
  readonly #mostListed: number;
  readonly #keepsVersions: boolean;
  readonly #server: Server;

  private constructor({ mostListed = 1000, buckets = ["threads"], keepsVersions = false }: StandInOptions) {
    this.#mostListed = mostListed;
    this.#keepsVersions = keepsVersions;
    for (const name of buckets) this.#buckets.set(name, new StandInBucket(mostListed, keepsVersions));
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(options: StandInOptions = {}): Promise<OciStandIn> {
    const standIn = new OciStandIn(options);
    standIn.#server.listen(0, "127.0.0.1");
    await once(standIn.#server, "listening");
    return standIn;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What lies in a bucket, by name. */
  objects(bucket = "threads"): Map<string, { readonly bytes: Buffer; readonly etag: string }> {
    return this.#buckets.get(bucket)?.objects ?? new Map();
  }

  /** Everything that lies in a bucket with versions, older ones and marks of deletions included. */
  versions(bucket = "threads"): readonly { readonly name: string; readonly object: { bytes: Buffer } | undefined }[] {
    return this.#buckets.get(bucket)?.versions ?? [];
  }

  hasBucket(name: string): boolean {
    return this.#buckets.has(name);
  }

  /** A provider as a program of its own would build it from the SDK. */
  get auth(): { getKeyId(): Promise<string>; getPrivateKey(): string; getPassphrase(): string | null } {
    const { privateKey } = this.user;
    return { getKeyId: async () => this.keyId, getPrivateKey: () => privateKey, getPassphrase: () => null };
  }

  /** The files that `oci setup config` would leave in a directory. Returns the config file's path. */
  async writeConfig(directory: string, sessionToken?: string): Promise<string> {
    const { tenancy, user, fingerprint, privateKey } = this.user;
    const [keyFile, tokenFile, file] = ["key.pem", "token", "config"].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(keyFile, privateKey, { mode: 0o600 });
    if (sessionToken !== undefined) await writeFile(tokenFile, sessionToken, { mode: 0o600 });
    const entries = { tenancy, user, fingerprint, key_file: keyFile, region: "eu-frankfurt-1" };
    const all = { ...entries, ...(sessionToken !== undefined && { security_token_file: tokenFile }) };
    const lines = Object.entries(all).map(([name, value]) => `${name}=${value}`);
    await writeFile(file, ["[DEFAULT]", ...lines, ""].join("\n"), { mode: 0o600 });
    return file;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    await noticedByClients();
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of message) chunks.push(chunk as Buffer);
    } catch {
      // The connection broke before the request was whole: nothing happens.
      return;
    }
    const body = Buffer.concat(chunks);
    const fault = faultInSignature(message, body, { publicKey: this.#publicKey, keyId: this.keyId });
    if (fault !== undefined) return send(response, { status: 401, body: { code: "NotAuthenticated", message: fault } });
    const route = routeOf(message);
    if (route === undefined) return send(response, failure(404, "NotFound"));
    const request = { method: message.method ?? "", kind: route.kind, name: route.name, bytes: body.length };
    this.requests.push(request);
    const injected = this.faultAt(request);
    const answer = injected?.when === "before" ? undefined : this.#answer(route, message, body);
    if (injected?.answer === "silence") return;
    if (injected?.answer === "cut") return void response.destroy();
    if (injected !== undefined) return send(response, failure(injected.answer.status, injected.answer.code));
    send(response, answer ?? failure(500, "InternalServerError"));
  }

  #answer({ kind, namespace, bucket: bucketName, name, query }: Route, message: IncomingMessage, body: Buffer): Answer {
    if (kind === "namespace") return { status: 200, body: NAMESPACE as unknown as object };
    if (namespace !== NAMESPACE) return failure(404, "NamespaceNotFound");
    if (kind === "create bucket") return this.#createBucket(body);
    const bucket = this.#buckets.get(bucketName);
    if (bucket === undefined) return failure(404, "BucketNotFound");
    switch (kind) {
      case "list":
        return bucket.list(query);
      case "list versions":
        return bucket.listVersions(query);
      case "delete version":
        return bucket.deleteVersion(name, query.get("versionId") ?? "");
      case "get object":
        return bucket.get(name, message.headers);
      case "put object":
        return bucket.put(name, body, message.headers);
      default:
        return bucket.delete(name, message.headers);
    }
  }

  #createBucket(body: Buffer): Answer {
    const { name, compartmentId } = JSON.parse(body.toString()) as { name: string; compartmentId: string };
    if (compartmentId !== COMPARTMENT) return failure(404, "NotAuthorizedOrNotFound");
    if (this.#buckets.has(name)) return failure(409, "BucketAlreadyExists");
    this.#buckets.set(name, new StandInBucket(this.#mostListed, this.#keepsVersions));
    return { status: 200, headers: { etag: randomUUID() }, body: { name, compartmentId, namespace: NAMESPACE } };
  }
}

interface Route {
  readonly kind: string;
  readonly namespace: string;
  readonly bucket: string;
  readonly name: string;
  readonly query: URLSearchParams;
}

function routeOf({ method = "", url = "" }: IncomingMessage): Route | undefined {
  const [path = "", search = ""] = url.split("?");
  const query = new URLSearchParams(search);
  const [root, namespace = "", b, bucket = "", o, name, ...rest] = path.slice(1).split("/").map(decodeURIComponent);
  if (root !== "n" || rest.length > 0) return undefined;
  const place = { namespace, bucket, query };
  if (namespace === "" && method === "GET") return { kind: "namespace", name: "", ...place };
  if (b !== "b") return undefined;
  if (bucket === "" && method === "POST") return { kind: "create bucket", name: "", ...place };
  if (o === "objectversions" && method === "GET") return { kind: "list versions", name: "", ...place };
  if (o !== "o") return undefined;
  if (name === undefined)
    return method === "GET" ? { kind: "list", name: query.get("prefix") ?? "", ...place } : undefined;
  const isVersion = method === "DELETE" && query.has("versionId");
  return { kind: isVersion ? "delete version" : `${method.toLowerCase()} object`, name, ...place };
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const type = Buffer.isBuffer(body) ? {} : { "content-type": "application/json" };
  const length = status === 204 ? {} : { "content-length": String(bytes.length) };
  response.writeHead(status, { "opc-request-id": randomUUID(), ...type, ...length, ...headers });
  response.end(bytes);
}
