import { createHash, randomUUID } from "node:crypto";

/** What the stand-in answers: a status, and an error's code where it is one. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | object;
}

export const failure = (status: number, code: string): Answer => ({
  status,
  body: { code, message: `stand-in: ${code}` },
});

interface StoredObject {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** What a bucket with versions keeps, in the order in which it came. */
interface StoredVersion {
  readonly name: string;
  readonly versionId: string;
  readonly at: number;
  /** The mark of a deletion where there is no object. */
  readonly object: StoredObject | undefined;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Objects by name, with the conditions and the paging of the real service. Each method does its work in one go. */
export class StandInBucket {
  readonly objects: Map<string, StoredObject> = new Map();
  versions: StoredVersion[] = [];
  readonly #mostListed: number;
  readonly #keepsVersions: boolean;

  constructor(mostListed: number, keepsVersions: boolean) {
    this.#mostListed = mostListed;
    this.#keepsVersions = keepsVersions;
  }

  get(name: string, headers: Headers): Answer {
    const found = this.objects.get(name);
    if (found === undefined) return failure(404, "ObjectNotFound");
    if (headers["if-match"] !== undefined && headers["if-match"] !== found.etag) return failure(412, "IfMatchFailed");
    return {
      status: 200,
      headers: { etag: found.etag, "version-id": this.#current(name), "content-type": "application/octet-stream" },
      body: found.bytes,
    };
  }

  put(name: string, bytes: Buffer, headers: Headers): Answer {
    if (Buffer.byteLength(name) > 1024) return failure(400, "InvalidObjectName");
    const md5 = createHash("md5").update(bytes).digest("base64");
    if (headers["content-md5"] !== undefined && headers["content-md5"] !== md5) {
      return failure(400, "UnmatchedContentMD5");
    }
    const [found, ifMatch, ifNoneMatch] = [this.objects.get(name), headers["if-match"], headers["if-none-match"]];
    if (ifNoneMatch !== undefined && ifNoneMatch !== "*") return failure(400, "InvalidParameter");
    if (ifNoneMatch === "*" && found !== undefined) return failure(412, "IfNoneMatchFailed");
    if (ifMatch !== undefined && found?.etag !== ifMatch) return failure(412, "IfMatchFailed");
    const etag = randomUUID();
    const object = { bytes, etag };
    this.objects.set(name, object);
    this.#keep(name, object);
    return { status: 200, headers: { etag, "opc-content-md5": md5 } };
  }

  delete(name: string, headers: Headers): Answer {
    const found = this.objects.get(name);
    if (found === undefined) return failure(404, "ObjectNotFound");
    if (headers["if-match"] !== undefined && headers["if-match"] !== found.etag) return failure(412, "IfMatchFailed");
    this.objects.delete(name);
    this.#keep(name, undefined);
    return { status: 204 };
  }

  /** For good. Where it was the newest, what came before it is the object now. */
  deleteVersion(name: string, versionId: string): Answer {
    const at = this.versions.findIndex((each) => each.name === name && each.versionId === versionId);
    if (at === -1) return failure(404, "ObjectNotFound");
    this.versions.splice(at, 1);
    const newest = this.versions.findLast((each) => each.name === name);
    if (newest?.object === undefined) this.objects.delete(name);
    else this.objects.set(name, newest.object);
    return { status: 204 };
  }

  /** By name, the newest of each first. */
  listVersions(query: URLSearchParams): Answer {
    const [after, afterAt] = JSON.parse(query.get("page") ?? '["",0]') as [string, number];
    const order = (name: string, other: string): number => Buffer.compare(Buffer.from(name), Buffer.from(other));
    const all = this.versions
      .filter(({ name }) => name.startsWith(query.get("prefix") ?? ""))
      .filter(({ name, at }) => order(name, after) > 0 || (name === after && at < afterAt))
      .sort((a, b) => order(a.name, b.name) || b.at - a.at);
    const page = all.slice(0, this.#mostListed);
    const items = page.map(({ name, versionId, object }) => ({
      name,
      versionId,
      isDeleteMarker: object === undefined,
      timeModified: new Date().toISOString(),
    }));
    const last = page.at(-1);
    const more = last !== undefined && page.length < all.length ? JSON.stringify([last.name, last.at]) : undefined;
    return { status: 200, headers: more === undefined ? {} : { "opc-next-page": more }, body: { items } };
  }

  #keep(name: string, object: StoredObject | undefined): void {
    const at = (this.versions.at(-1)?.at ?? 0) + 1;
    if (this.#keepsVersions) this.versions.push({ name, versionId: randomUUID(), at, object });
  }

  #current(name: string): string {
    return this.versions.findLast((each) => each.name === name)?.versionId ?? "null";
  }

  list(query: URLSearchParams): Answer {
    const [prefix, delimiter] = [query.get("prefix") ?? "", query.get("delimiter")];
    const [start, startAfter, end] = [query.get("start"), query.get("startAfter"), query.get("end")];
    const asked = Number(query.get("limit") ?? 1000);
    if (!(asked >= 1 && asked <= 1000)) return failure(400, "InvalidParameter");
    const limit = Math.min(asked, this.#mostListed);
    const names = [...this.objects.keys()]
      .filter((name) => name.startsWith(prefix))
      .filter((name) => (start === null || name >= start) && (startAfter === null || name > startAfter))
      .filter((name) => end === null || name < end)
      .sort();
    const objects: object[] = [];
    const prefixes = new Set<string>();
    for (const name of names) {
      const cut = delimiter === null ? -1 : name.indexOf(delimiter, prefix.length);
      const folder = cut === -1 ? undefined : name.slice(0, cut + 1);
      if (folder !== undefined && prefixes.has(folder)) continue;
      if (objects.length + prefixes.size === limit) {
        return { status: 200, body: { objects, prefixes: [...prefixes], nextStartWith: name } };
      }
      if (folder === undefined) objects.push(this.#summary(name, query.get("fields") ?? "name"));
      else prefixes.add(folder);
    }
    return { status: 200, body: { objects, prefixes: [...prefixes] } };
  }

  #summary(name: string, fields: string): object {
    const object = this.objects.get(name);
    const all: Readonly<Record<string, unknown>> = { name, size: object?.bytes.length, etag: object?.etag };
    return Object.fromEntries(["name", ...fields.split(",")].map((field) => [field, all[field]]));
  }
}
