import { rmSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamodbCheckpointer } from "../src/backends/dynamodb/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { userMessage } from "../src/state/message.ts";
import { dynamodbPlace } from "../test/dynamodb/test-table.ts";
import { startDynamodb } from "../test/services/dynamodb.ts";
import { SERVICES } from "../test/services/services.ts";
import { renderTable } from "./table.ts";

const LENGTHS = [10, 100, 400, 1000] as const;
/** What Amazon asked in us-east-1 for a million units on demand when this was written: not measured. */
const [WRITE_PRICE, READ_PRICE] = [0.625, 0.125];

interface Units {
  readonly write: number;
  readonly read: number;
}

export interface DynamodbCost {
  readonly messageBytes: number;
  readonly length: number;
  /** Write units a save, over all saves up to this length. */
  readonly save: number;
  readonly coldLoad: number;
  readonly newestTen: number;
}

/** What saves and loads consume of a table, by the units that DynamoDB Local reports: it counts as the service does. */
export async function benchDynamodb(): Promise<
  { readonly costs: readonly DynamodbCost[]; readonly verdicts: [] } | undefined
> {
  if (!(await SERVICES.dynamodb.isHere())) {
    console.log(`\nDynamoDB is not measured: ${SERVICES.dynamodb.howToGet}`);
    return undefined;
  }
  const server = await startDynamodb();
  try {
    const measured = [...(await grow(server.url, 200)), ...(await grow(server.url, 1000))];
    const rows = measured.map(({ messageBytes, length, save, coldLoad, newestTen }) => [
      `${messageBytes} B`,
      String(length),
      save.toFixed(1),
      `$${(save * WRITE_PRICE).toFixed(2)}`,
      coldLoad.toFixed(0),
      `$${(coldLoad * READ_PRICE).toFixed(2)}`,
      newestTen.toFixed(0),
    ]);
    const columns = [
      "message",
      "saves",
      "WRU a save",
      "a million",
      "RRU a cold load",
      "a million",
      "RRU of the newest 10",
    ];
    console.log(`\n${renderTable(columns, rows)}`);
    return { costs: measured, verdicts: [] };
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

async function grow(url: string, messageBytes: number): Promise<readonly DynamodbCost[]> {
  const place = dynamodbPlace(url);
  const writer = countingClient(place);
  const checkpointer = new DynamodbCheckpointer({ ...ownPlace(place), client: writer.client });
  const measured: DynamodbCost[] = [];
  let [state, write] = [AgentState.create(), 0];
  for (let step = 1; step <= Math.max(...LENGTHS); step++) {
    state = state.withMessage(userMessage(`${step} `.padEnd(messageBytes, "abcdefghi ")));
    writer.reset();
    await checkpointer.save(state, "long");
    write += writer.units().write;
    const length = LENGTHS.find((one) => one === step);
    if (length === undefined) continue;
    const coldLoad = await cold(place, async (reader) => {
      const found = (await reader.load("long"))?.messages.length;
      if (found !== step) throw new Error(`a load found ${found} of ${step} messages`);
    });
    const newestTen = await cold(place, (reader) => reader.listCheckpoints("long", { limit: 10 }));
    measured.push({ messageBytes, length, save: write / step, coldLoad: coldLoad.read, newestTen: newestTen.read });
  }
  await checkpointer.close();
  return measured;
}

async function cold(
  place: ReturnType<typeof dynamodbPlace>,
  work: (reader: DynamodbCheckpointer) => Promise<unknown>,
): Promise<Units> {
  const { client, units } = countingClient(place);
  const reader = new DynamodbCheckpointer({ ...ownPlace(place), client });
  await work(reader);
  await reader.close();
  return units();
}

const ownPlace = ({ tableName, prefix }: ReturnType<typeof dynamodbPlace>) => ({
  tableName,
  prefix,
  createTable: true,
});

/** The SDK's own client, with the units of every answer counted. */
function countingClient({ endpoint = "", credentials }: ReturnType<typeof dynamodbPlace>) {
  const client = new DynamoDBClient({
    endpoint,
    region: "us-east-1",
    ...(credentials !== undefined && { credentials }),
  });
  let counted: Units = { write: 0, read: 0 };
  const send = client.send.bind(client) as (
    ...given: unknown[]
  ) => Promise<{ ConsumedCapacity?: { readonly CapacityUnits?: number } }>;
  Object.assign(client, {
    send: async (command: { input: object }, ...rest: unknown[]) => {
      const isItems = !/Table/.test(command.constructor.name);
      if (isItems) Object.assign(command.input, { ReturnConsumedCapacity: "TOTAL" });
      const answer = await send(command, ...rest);
      const units = answer.ConsumedCapacity?.CapacityUnits ?? 0;
      const isRead = /Get|Query/.test(command.constructor.name);
      counted = { write: counted.write + (isRead ? 0 : units), read: counted.read + (isRead ? units : 0) };
      return answer;
    },
  });
  return { client, units: () => counted, reset: () => (counted = { write: 0, read: 0 }) };
}
