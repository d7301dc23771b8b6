import { type AwsClientShape, awsFailure } from "../../driver/aws.ts";
import { StateError } from "../../errors.ts";
import { importPeer } from "../../internal/import-peer.ts";
import { sleep } from "../../internal/time.ts";

type Command = new (input: object) => object;

/** The SDK's commands, by operation. */
export interface DynamodbModule {
  readonly DynamoDBClient: new (options: object) => AwsClientShape;
  readonly GetItemCommand: Command;
  readonly PutItemCommand: Command;
  readonly DeleteItemCommand: Command;
  readonly QueryCommand: Command;
  readonly CreateTableCommand: Command;
  readonly DescribeTableCommand: Command;
  readonly UpdateTimeToLiveCommand: Command;
}

export const SDK_VERSIONS = ">=3.700 <4";

export const loadSdk = (): Promise<DynamodbModule> => importPeer("@aws-sdk/client-dynamodb", SDK_VERSIONS);

/** A new table is there after a few seconds. */
const [LOOKS, PAUSE_MS] = [120, 500];

/** Makes the table, or waits for the one that another process makes. */
export async function createTable(
  sdk: DynamodbModule,
  client: AwsClientShape,
  { tableName: TableName, expiry }: { readonly tableName: string; readonly expiry: object | undefined },
): Promise<void> {
  const text = (AttributeName: string): object => ({ AttributeName, AttributeType: "S" });
  const isMade = await done(
    client.send(
      new sdk.CreateTableCommand({
        TableName,
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [text("shard"), text("name")],
        KeySchema: [
          { AttributeName: "shard", KeyType: "HASH" },
          { AttributeName: "name", KeyType: "RANGE" },
        ],
      }),
    ),
  );
  for (let look = 0; look < LOOKS; look++) {
    const { Table } = (await client.send(new sdk.DescribeTableCommand({ TableName }))) as {
      readonly Table?: { readonly TableStatus?: string };
    };
    if (Table?.TableStatus === "ACTIVE") {
      const TimeToLiveSpecification = { AttributeName: "expires", Enabled: true };
      if (isMade && expiry !== undefined) {
        await client.send(new sdk.UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
      }
      return;
    }
    await sleep(PAUSE_MS);
  }
  throw new StateError("UNAVAILABLE", `the new table ${JSON.stringify(TableName)} is not there yet; try again`);
}

/** False where another process was faster. */
async function done(creating: Promise<unknown>): Promise<boolean> {
  try {
    await creating;
    return true;
  } catch (error) {
    if (awsFailure(error)?.word !== "ResourceInUseException") throw error;
    return false;
  }
}
