import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { canHaveJava, type JavaProgram, javaProgram } from "./maven-jars.ts";
import { freePort, serverFolder, startServer, type TestServer } from "./server-process.ts";

export const HOW_TO_GET_DYNAMODB =
  "npm run services:install dynamodb (Java 17 and Maven), or set HOLDFAST_TEST_DYNAMODB_URL";

/** Amazon's own stand-in for its service: the same requests and answers, with tables in SQLite. */
const DYNAMODB_LOCAL: JavaProgram = { folder: "dynamodb", artifact: "com.amazonaws:DynamoDBLocal:2.6.1" };

export const canHaveDynamodb = (): Promise<boolean> => canHaveJava(DYNAMODB_LOCAL);
export const dynamodbJars = (): Promise<string> => javaProgram(DYNAMODB_LOCAL);

/** `dynamodb://key:secret@127.0.0.1:port`: what the tests hand about. A user's URL has no keys in it; `dynamodbPlace` turns this into options. */
export async function startDynamodb(): Promise<TestServer> {
  if (!(await canHaveDynamodb())) throw new Error(`there is no DynamoDB Local here: ${HOW_TO_GET_DYNAMODB}`);
  const [jars, folder, port] = [await dynamodbJars(), await serverFolder("dynamodb"), await freePort()];
  return startServer({
    name: "dynamodb",
    url: `dynamodb://${randomBytes(8).toString("hex")}:${randomBytes(16).toString("hex")}@127.0.0.1:${port}`,
    port,
    folder,
    program: "java",
    arguments: [
      // Few cores, short lives: what saves the start is worth more than what speeds up the long run.
      ...["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", `-Djava.library.path=${jars}`],
      ...["-cp", join(jars, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"],
      ...["-port", String(port), "-dbPath", folder, "-sharedDb", "-disableTelemetry"],
    ],
    stopSignal: "SIGTERM",
    probe: () => answers(port),
  });
}

/** Any answer will do: without a request it is a refusal. */
async function answers(port: number): Promise<void> {
  await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
}
