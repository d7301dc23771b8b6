import { createHash } from "node:crypto";
import { type Access, noStoreHere } from "../../driver/access.ts";
import { type AwsClientShape, mayHaveBeenMade } from "../../driver/aws.ts";
import { newId } from "../../driver/ids.ts";
import { mergedPages } from "../../driver/merged-pages.ts";
import {
  answerWithin,
  BaseObjectBucket,
  type BucketListOptions,
  type FoundObject,
  type ObjectBucket,
} from "../../driver/object-bucket.ts";
import { OpenOnce } from "../../driver/open-once.ts";
import { explained, isAbsentTable, isRefused } from "./classify.ts";
import { createTable, type DynamodbModule } from "./table.ts";

/**
 * How objects lie in a table. Its key is `shard` (a text, the partition) and `name` (a text).
 *
 *   shard  name                          version       expires      bytes
 *   "3"    holdfast/threads/user-42      k2m9…         1790000000   the object
 *
 * A name always has the same shard, by its hash: so the writes of many threads are spread
 * over the partitions of the table, and a list asks as many partitions as there are shards.
 */
const SHARDS = 8;
const shardOf = (name: string): string => String((createHash("sha1").update(name).digest()[0] ?? 0) % SHARDS);

/** An item may have 400 KB, with the names of its attributes; a name has up to 1024 bytes. */
const LARGEST_OBJECT = 400 * 1024 - 2048;

/** What sorts behind every character of a name, and before. */
const [LAST, FIRST] = ["\u007f", " "];

export interface TablePlace {
  readonly tableName: string;
  /** With "read", a missing table means that there is no store; it is not reported as a wrong option, and never made. */
  readonly access: Access;
  readonly createTable: boolean;
  /** Where objects begin that are to expire, and when one that is written now does, in seconds since 1970. */
  readonly expiry: { readonly prefix: string; readonly at: () => number } | undefined;
  readonly requestTimeoutMs: number;
  /** Whether `close` closes the client. */
  readonly ownsClient: boolean;
}

type Item = Readonly<Record<string, { readonly S?: string; readonly B?: Uint8Array }>>;

/** One table of DynamoDB. Every read is consistent, every write conditional. */
export class DynamodbBucket extends BaseObjectBucket implements ObjectBucket {
  override readonly maxObjectBytes: number = LARGEST_OBJECT;
  readonly #sdk: DynamodbModule;
  readonly #client: AwsClientShape;
  readonly #place: TablePlace;
  readonly #created: OpenOnce<void> = new OpenOnce(() => createTable(this.#sdk, this.#client, this.#place));

  constructor(sdk: DynamodbModule, client: AwsClientShape, place: TablePlace) {
    super();
    this.#sdk = sdk;
    this.#client = client;
    this.#place = place;
  }

  async get(name: string): Promise<FoundObject | undefined> {
    const input = { ...this.#keyOf(name), ConsistentRead: true };
    const { Item } = (await this.#request(new this.#sdk.GetItemCommand(input))) as { readonly Item?: Item };
    if (Item === undefined) return undefined;
    return { bytes: Buffer.from(Item["bytes"]?.B ?? []), version: Item["version"]?.S ?? "" };
  }

  async put(name: string, bytes: Buffer, expected: string | undefined): Promise<string | undefined> {
    const version = newId();
    const { expiry, tableName: TableName } = this.#place;
    const expires = expiry !== undefined && name.startsWith(expiry.prefix) && { expires: { N: String(expiry.at()) } };
    const Item = {
      shard: { S: shardOf(name) },
      name: { S: name },
      version: { S: version },
      ...expires,
      bytes: { B: bytes },
    };
    const input = { TableName, Item, ...(expected === undefined ? ABSENT : onVersion(expected)) };
    return (await this.#conditionally(new this.#sdk.PutItemCommand(input))) ? version : undefined;
  }

  async delete(name: string): Promise<void> {
    await this.#request(new this.#sdk.DeleteItemCommand(this.#keyOf(name)));
  }

  override deleteIf(name: string, version: string): Promise<boolean> {
    const { ConditionExpression, ...rest } = onVersion(version);
    const condition = { ...rest, ConditionExpression: `attribute_not_exists(version) OR ${ConditionExpression}` };
    return this.#conditionally(new this.#sdk.DeleteItemCommand({ ...this.#keyOf(name), ...condition }));
  }

  list({ prefix, startAfter = "", end, pageSize = 1000 }: BucketListOptions): AsyncIterable<readonly string[]> {
    const until = end !== undefined && end < `${prefix}${LAST}` ? end : `${prefix}${LAST}`;
    const from = startAfter > prefix ? startAfter : prefix || FIRST;
    const limit = Math.ceil(pageSize / SHARDS) + 1;
    const shards = from > until ? [] : Array.from({ length: SHARDS }, (_, index) => String(index));
    // DynamoDB includes both ends of a range.
    const isWithin = (name: string): boolean => name > startAfter && name !== end;
    return mergedPages(shards.map((shard) => this.#pages(shard, [from, until], limit, isWithin)));
  }

  override mayHaveWritten(error: unknown): boolean {
    return mayHaveBeenMade(error);
  }

  override async close(): Promise<void> {
    if (this.#place.ownsClient) this.#client.destroy?.();
  }

  async *#pages(
    shard: string,
    [from, until]: readonly [string, string],
    limit: number,
    isWithin: (name: string) => boolean,
  ): AsyncGenerator<readonly string[]> {
    const input = {
      TableName: this.#place.tableName,
      ConsistentRead: true,
      KeyConditionExpression: "#shard = :shard AND #name BETWEEN :from AND :until",
      ProjectionExpression: "#name",
      ExpressionAttributeNames: { "#shard": "shard", "#name": "name" },
      ExpressionAttributeValues: { ":shard": { S: shard }, ":from": { S: from }, ":until": { S: until } },
      Limit: limit,
    };
    let next: object | undefined;
    do {
      const command = new this.#sdk.QueryCommand({ ...input, ...(next !== undefined && { ExclusiveStartKey: next }) });
      const answer = (await this.#request(command)) as { Items?: readonly Item[]; LastEvaluatedKey?: object };
      yield (answer.Items ?? []).map((item) => item["name"]?.S ?? "").filter(isWithin);
      next = answer.LastEvaluatedKey;
    } while (next !== undefined);
  }

  #keyOf(name: string): object {
    return { TableName: this.#place.tableName, Key: { shard: { S: shardOf(name) }, name: { S: name } } };
  }

  /** False if the condition did not hold. */
  async #conditionally(command: object): Promise<boolean> {
    try {
      await this.#request(command);
      return true;
    } catch (error) {
      if (isRefused(error)) return false;
      throw error;
    }
  }

  async #request(command: object): Promise<unknown> {
    const { access, createTable: mayCreate, tableName, requestTimeoutMs } = this.#place;
    const send = (): Promise<unknown> =>
      answerWithin(requestTimeoutMs, (abortSignal) => this.#client.send(command, { abortSignal }));
    try {
      return await send();
    } catch (error) {
      if (!isAbsentTable(error)) throw explained(error, tableName);
      if (access === "read") throw noStoreHere(`there is no table ${JSON.stringify(tableName)}`, error);
      if (!mayCreate) throw explained(error, tableName);
    }
    await this.#created.get();
    return send();
  }
}

const ABSENT = { ConditionExpression: "attribute_not_exists(version)" };
const onVersion = (version: string) => ({
  ConditionExpression: "version = :version",
  ExpressionAttributeValues: { ":version": { S: version } },
});
