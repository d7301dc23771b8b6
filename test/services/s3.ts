import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { canHaveGoProgram, type GoProgram, goProgram } from "./go-programs.ts";
import { freePort, serverFolder, startServer, type TestServer } from "./server-process.ts";

export const HOW_TO_GET_S3 =
  "npm run services:install s3 (Go 1.24 or newer builds it in a minute), or set HOLDFAST_TEST_S3_URL";

/** A gateway that speaks S3's protocol and keeps objects in a folder. */
const VERSITYGW: GoProgram = { name: "versitygw", source: "github.com/versity/versitygw/cmd/versitygw@v1.8.0" };

/** For the campaigns: it takes three minutes to build. It ignores `If-Match` on DELETE. */
const MINIO: GoProgram = { name: "minio", source: "github.com/minio/minio@latest" };

export const canHaveS3 = (): Promise<boolean> => canHaveGoProgram(VERSITYGW);
export const buildS3 = (): Promise<string> => goProgram(VERSITYGW);
export const canHaveMinio = (): Promise<boolean> => canHaveGoProgram(MINIO);

export const TEST_BUCKET = "threads";

/**
 * `s3://key:secret@127.0.0.1:port/bucket`: what the tests hand about. A user's
 * URL has no keys in it; `s3Place` turns this into options.
 */
const urlOf = (key: string, secret: string, port: number): string =>
  `s3://${key}:${secret}@127.0.0.1:${port}/${TEST_BUCKET}`;

export async function startS3({
  keepsVersions = false,
}: {
  readonly keepsVersions?: boolean;
} = {}): Promise<TestServer> {
  const [folder, port] = [await serverFolder("versitygw"), await freePort()];
  const [objects, versions] = [join(folder, "objects"), join(folder, "versions")];
  if (keepsVersions) for (const each of [join(objects, TEST_BUCKET), versions]) await mkdir(each, { recursive: true });
  const [key, secret] = [randomBytes(8).toString("hex"), randomBytes(16).toString("hex")];
  if (!keepsVersions) await mkdir(join(folder, TEST_BUCKET));
  return startServer({
    name: "versitygw",
    url: urlOf(key, secret, port),
    port,
    folder,
    program: await goProgram(VERSITYGW),
    arguments: [
      "--port",
      `127.0.0.1:${port}`,
      "posix",
      ...(keepsVersions ? ["--versioning-dir", versions, objects] : [folder]),
    ],
    environment: { ROOT_ACCESS_KEY: key, ROOT_SECRET_KEY: secret },
    stopSignal: "SIGTERM",
    probe: () => answers(port),
  });
}

export async function startMinio(): Promise<TestServer> {
  const [folder, port] = [await serverFolder("minio"), await freePort()];
  const [key, secret] = [randomBytes(8).toString("hex"), randomBytes(16).toString("hex")];
  await mkdir(join(folder, TEST_BUCKET));
  return startServer({
    name: "minio",
    url: urlOf(key, secret, port),
    port,
    folder,
    program: await goProgram(MINIO),
    arguments: ["server", folder, "--address", `127.0.0.1:${port}`, "--quiet"],
    environment: { MINIO_ROOT_USER: key, MINIO_ROOT_PASSWORD: secret, MINIO_BROWSER: "off", MINIO_UPDATE: "off" },
    stopSignal: "SIGTERM",
    probe: async () => {
      const { ok } = await fetch(`http://127.0.0.1:${port}/minio/health/ready`);
      if (!ok) throw new Error("not ready yet");
    },
  });
}

/** Any answer will do: without a signature it is a refusal. */
async function answers(port: number): Promise<void> {
  await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
}
