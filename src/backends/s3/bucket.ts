import { createHash, randomBytes } from "node:crypto";
import { type Access, noStoreHere } from "../../driver/access.ts";
import { type AwsClientShape, mayHaveBeenMade } from "../../driver/aws.ts";
import type { ScrubReport } from "../../driver/driver.ts";
import {
  answerWithin,
  BaseObjectBucket,
  type BucketListOptions,
  etagOf,
  type FoundObject,
  type ObjectBucket,
} from "../../driver/object-bucket.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import type { ServerClock } from "../../driver/server-clock.ts";
import { isBucketAbsent, isNotImplemented, isObjectAbsent, isRefused } from "./classify.ts";
import type { S3Module } from "./connect.ts";
import { deleteOlderVersions } from "./older-versions.ts";

export interface S3Place {
  readonly bucketName: string;
  /** With "read", a missing bucket means that there is no store; it is not reported as a wrong option. */
  readonly access: Access;
  /** Where an object may be created briefly, to test what the service supports. */
  readonly probePrefix: string;
  readonly requestTimeoutMs: number;
  /** Whether `close` closes the client. */
  readonly ownsClient: boolean;
  /** Told the dates of all answers. */
  readonly clock?: ServerClock;
}

/** One bucket of S3 or of a service that speaks its protocol. */
export class S3Bucket extends BaseObjectBucket implements ObjectBucket {
  readonly #sdk: S3Module;
  readonly #client: AwsClientShape;
  readonly #place: S3Place;
  /** Tested once, on an object made for it: a conditional delete that must be refused. */
  readonly #honoursDeletion: OpenOnce<boolean> = new OpenOnce(() => this.#probeDeletion());

  constructor(sdk: S3Module, client: AwsClientShape, place: S3Place) {
    super();
    this.#sdk = sdk;
    this.#client = client;
    this.#place = place;
  }

  async get(name: string): Promise<FoundObject | undefined> {
    try {
      return await this.#request(async (send) => {
        const { Body, ETag } = (await send(new this.#sdk.GetObjectCommand(this.#named(name)))) as GetAnswer;
        return { bytes: Buffer.from((await Body?.transformToByteArray()) ?? []), version: etagOf(ETag) };
      });
    } catch (error) {
      if (isObjectAbsent(error)) return undefined;
      throw error;
    }
  }

  async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    const ContentMD5 = createHash("md5").update(bytes).digest("base64");
    const when = expected === undefined ? { IfNoneMatch: "*" } : { IfMatch: expected };
    const body = { Body: bytes, ContentLength: bytes.byteLength, ContentMD5, ContentType: "application/octet-stream" };
    try {
      return await this.#request(async (send) => {
        const command = new this.#sdk.PutObjectCommand({ ...this.#named(name), ...body, ...when });
        return etagOf(((await send(command)) as { readonly ETag?: string }).ETag);
      });
    } catch (error) {
      if (isRefused(error) || (expected !== undefined && isObjectAbsent(error))) return undefined;
      throw error;
    }
  }

  async delete(name: string): Promise<void> {
    await this.#request((send) => send(new this.#sdk.DeleteObjectCommand(this.#named(name)))).catch(ignoreAbsent);
  }

  /**
   * Amazon's S3 refuses a conditional delete whose condition does not hold. MinIO
   * ignores the condition, so it is never sent there.
   */
  override async deleteIf(name: string, version: string): Promise<boolean> {
    if (!(await this.#honoursDeletion.get())) return false;
    return this.#deleteMatching(name, version);
  }

  async *list(options: BucketListOptions): AsyncGenerator<readonly string[], void, undefined> {
    const { prefix, startAfter, end, pageSize } = options;
    const input = {
      Bucket: this.#place.bucketName,
      Prefix: prefix,
      ...(startAfter !== undefined && { StartAfter: startAfter }),
      ...(pageSize !== undefined && { MaxKeys: pageSize }),
    };
    let from: object = {};
    for (;;) {
      const command = new this.#sdk.ListObjectsV2Command({ ...input, ...from });
      const page = (await this.#request((send) => send(command))) as ListAnswer;
      const names = (page.Contents ?? []).map(({ Key }) => Key ?? "");
      yield end === undefined ? names : names.filter((name) => name < end);
      const isPast = end !== undefined && names.some((name) => name >= end);
      if (isPast || page.IsTruncated !== true || page.NextContinuationToken === undefined) return;
      from = { ContinuationToken: page.NextContinuationToken };
    }
  }

  override deleteOlderVersions(prefix: string): Promise<ScrubReport> {
    return deleteOlderVersions({ sdk: this.#sdk, bucketName: this.#place.bucketName }, prefix, (command) =>
      this.#request((send) => send(command)),
    );
  }

  override mayHaveWritten(error: unknown): boolean {
    return mayHaveBeenMade(error);
  }

  override async close(): Promise<void> {
    if (this.#place.ownsClient) this.#client.destroy?.();
  }

  async #deleteMatching(name: string, etag: string): Promise<boolean> {
    try {
      const input = { ...this.#named(name), IfMatch: etag };
      await this.#request((send) => send(new this.#sdk.DeleteObjectCommand(input)));
      return true;
    } catch (error) {
      if (isObjectAbsent(error)) return true;
      if (isRefused(error) || isNotImplemented(error)) return false;
      throw error;
    }
  }

  async #probeDeletion(): Promise<boolean> {
    const name = `${this.#place.probePrefix}probes/${randomBytes(8).toString("hex")}`;
    await this.put(name, Buffer.from("holdfast asks whether this store honours If-Match on DELETE\n"), undefined);
    await this.#deleteMatching(name, '"00000000000000000000000000000000"');
    const isStillThere = (await this.get(name)) !== undefined;
    if (isStillThere) await this.delete(name);
    return isStillThere;
  }

  #named(name: string): object {
    return { Bucket: this.#place.bucketName, Key: name };
  }

  /** With its deadline, which includes reading the answer. */
  async #request<T>(call: (send: (command: object) => Promise<unknown>) => Promise<T>): Promise<T> {
    const { requestTimeoutMs, access, bucketName, clock } = this.#place;
    try {
      return await answerWithin(requestTimeoutMs, (abortSignal) =>
        call((command) => {
          if (clock !== undefined) noteDates(command as CommandShape, clock);
          return this.#client.send(command, { abortSignal });
        }),
      );
    } catch (error) {
      if (access === "write" || !isBucketAbsent(error)) throw error;
      throw noStoreHere(`there is no bucket ${JSON.stringify(bucketName)}`, error);
    }
  }
}

/** The part of the SDK's commands by which an answer's headers are seen: the SDK's own result leaves them out. */
interface CommandShape {
  readonly middlewareStack?: {
    add(middleware: (next: Handler) => Handler, options: { readonly step: "deserialize" }): void;
  };
}

type Handler = (args: unknown) => Promise<{ readonly response?: unknown }>;

function noteDates({ middlewareStack }: CommandShape, clock: ServerClock): void {
  const middleware =
    (next: Handler): Handler =>
    async (args) => {
      const answered = clock.ask();
      try {
        const result = await next(args);
        answered(dateOf(result.response));
        return result;
      } catch (error) {
        answered(dateOf((error as { readonly $response?: unknown } | undefined)?.$response));
        throw error;
      }
    };
  middlewareStack?.add(middleware, { step: "deserialize" });
}

function dateOf(response: unknown): string | undefined {
  const { headers } = (response ?? {}) as { readonly headers?: Readonly<Record<string, string>> };
  return headers?.["date"];
}

interface GetAnswer {
  readonly Body?: { transformToByteArray(): Promise<Uint8Array> };
  readonly ETag?: string;
}

interface ListAnswer {
  readonly Contents?: readonly { readonly Key?: string }[];
  readonly IsTruncated?: boolean;
  readonly NextContinuationToken?: string;
}

function ignoreAbsent(error: unknown): void {
  if (!isObjectAbsent(error)) throw error;
}
