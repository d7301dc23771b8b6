import { DeleteItemCommand, DynamoDBClient, PutItemCommand, ScanCommand } from "@aws-sdk/client-dynamodb";
import { createConnection } from "mysql2/promise";
import { dynamodbCheckpointer } from "../../src/backends/dynamodb/index.ts";
import { mysqlCheckpointer, mysqlStore } from "../../src/backends/mysql/index.ts";
import { s3LogOptions } from "../../src/backends/s3/checkpointer.ts";
import { S3BucketCheckpointer, s3Store } from "../../src/backends/s3/index.ts";
import { s3BucketSource } from "../../src/backends/s3/log.ts";
import type { ObjectBucket } from "../../src/driver/object-bucket.ts";
import { dynamodbPlace } from "../dynamodb/test-table.ts";
import { s3Place } from "../s3/test-bucket.ts";
import { mysqlPlace } from "../services/mysql-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { SCENARIOS } from "./scenarios.ts";
import { copiedBy, playAll } from "./world.ts";

/** Real servers without a replica: a backup is taken, and restored beside processes that go on. */

/** Every table of the database, put back in one transaction. */
async function copyDatabase(url: string): Promise<() => Promise<void>> {
  const connection = await createConnection(url);
  const [found] = await connection.query("SHOW TABLES");
  const tables = (found as readonly object[]).map((row) => String(Object.values(row)[0]));
  for (const table of tables) await connection.query(`CREATE TABLE copy_of_${table} LIKE ${table}`);
  for (const table of tables) await connection.query(`INSERT INTO copy_of_${table} SELECT * FROM ${table}`);
  return async () => {
    // What belongs to a thread or an item would go with it, and come before it.
    await connection.query("SET FOREIGN_KEY_CHECKS = 0");
    await connection.beginTransaction();
    for (const table of tables) {
      await connection.query(`DELETE FROM ${table}`);
      await connection.query(`INSERT INTO ${table} SELECT * FROM copy_of_${table}`);
    }
    await connection.commit();
    await connection.end();
  };
}

await describeWithService("mysql", (server) => {
  playAll("a restored backup", SCENARIOS, async () => {
    const { url: dsn, dispose } = await mysqlPlace(server);
    const open = () => ({ checkpointer: mysqlCheckpointer({ dsn }), store: mysqlStore({ dsn }) });
    return copiedBy(open, () => copyDatabase(dsn), dispose);
  });
});

async function copyObjects(bucket: ObjectBucket, prefix: string): Promise<() => Promise<void>> {
  const objects = async (): Promise<ReadonlyMap<string, Buffer>> => {
    const all = new Map<string, Buffer>();
    for await (const names of bucket.list({ prefix })) {
      for (const name of names) all.set(name, (await bucket.get(name))?.bytes ?? Buffer.of());
    }
    return all;
  };
  const kept = await objects();
  return async () => {
    for (const [name, bytes] of kept) {
      const now = await bucket.get(name);
      if (now === undefined || !now.bytes.equals(bytes)) await bucket.put(name, bytes, now?.version);
    }
    for (const name of (await objects()).keys()) if (!kept.has(name)) await bucket.delete(name);
  };
}

await describeWithService("s3", (url) => {
  playAll("a restored backup", SCENARIOS, async () => {
    const { sealing: _, ...place } = s3Place(url);
    const bucket = await s3BucketSource(s3LogOptions(place)).open();
    const open = () => ({ checkpointer: new S3BucketCheckpointer(place), store: s3Store(place) });
    return copiedBy(
      open,
      () => copyObjects(bucket, place.prefix),
      () => bucket.close(),
    );
  });
});

/** The items with all their attributes, so that what a conditional write compares is as old as the rest. */
async function copyItems(client: DynamoDBClient, table: string, prefix: string): Promise<() => Promise<void>> {
  const items = async () => {
    const scan = { TableName: table, FilterExpression: "begins_with(#name, :prefix)", ConsistentRead: true };
    const names = { "#name": "name" };
    const values = { ":prefix": { S: prefix } };
    const { Items = [], LastEvaluatedKey } = await client.send(
      new ScanCommand({ ...scan, ExpressionAttributeNames: names, ExpressionAttributeValues: values }),
    );
    if (LastEvaluatedKey !== undefined) throw new Error("more items than one page holds");
    return new Map(Items.map((item) => [item["name"]?.S ?? "", item]));
  };
  const kept = await items();
  return async () => {
    for (const Item of kept.values()) await client.send(new PutItemCommand({ TableName: table, Item }));
    for (const [name, { shard, name: key }] of await items()) {
      if (kept.has(name) || shard === undefined || key === undefined) continue;
      await client.send(new DeleteItemCommand({ TableName: table, Key: { shard, name: key } }));
    }
  };
}

await describeWithService("dynamodb", (url) => {
  playAll("a restored backup", SCENARIOS, async () => {
    const place = dynamodbPlace(url);
    const { endpoint = "", credentials, tableName, prefix } = place;
    const client = new DynamoDBClient({ endpoint, region: "us-east-1", ...(credentials && { credentials }) });
    const open = () => ({ checkpointer: dynamodbCheckpointer(place) });
    return copiedBy(
      open,
      () => copyItems(client, tableName, prefix),
      async () => client.destroy(),
    );
  });
});
