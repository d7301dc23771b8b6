import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CACHE, mayInstall, onPath } from "./binaries.ts";

const run = promisify(execFile);

/** A program for Java that Maven knows, with everything that it needs. */
export interface JavaProgram {
  /** The name of its folder in the cache. */
  readonly folder: string;
  /** `group:name:version`. */
  readonly artifact: string;
}

const placeOf = ({ folder }: JavaProgram): string => fileURLToPath(new URL(`${folder}/`, CACHE));

/** Whether it can be started: with Java, and the jars or the tool that gets them. */
export async function canHaveJava(program: JavaProgram): Promise<boolean> {
  if ((await onPath("java")) === undefined) return false;
  return existsSync(placeOf(program)) || (mayInstall() && (await onPath("mvn")) !== undefined);
}

/** A folder with its jars and native libraries, got by Maven from wherever this machine's Maven gets things. */
export async function javaProgram(program: JavaProgram): Promise<string> {
  const place = placeOf(program);
  if (!existsSync(place)) await fetchJars(program, place);
  return place;
}

/** Whole or not at all: two that fetch at once both succeed, and the later one's work is thrown away. */
async function fetchJars({ folder, artifact }: JavaProgram, place: string): Promise<void> {
  const cache = fileURLToPath(CACHE);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, `${folder}-`));
  try {
    await writeFile(join(work, "pom.xml"), pom(folder, artifact));
    const goal = ["dependency:copy-dependencies", `-DoutputDirectory=${join(work, "jars")}`];
    await run("mvn", ["-B", "-q", ...goal], { cwd: work });
    await rename(join(work, "jars"), place).catch((error: unknown) => {
      if (!existsSync(place)) throw error;
    });
  } finally {
    await rm(work, { recursive: true });
  }
}

function pom(folder: string, artifact: string): string {
  const [group, name, version] = artifact.split(":");
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>holdfast</groupId><artifactId>${folder}-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version>
  </dependency></dependencies>
</project>
`;
}
