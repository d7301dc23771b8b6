import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { canHaveGoProgram, type GoProgram, goProgram } from "./go-programs.ts";
import { freePort, serverFolder, startServer, type TestServer } from "./server-process.ts";

/** Speaks MongoDB's protocol and keeps its documents in SQLite: MongoDB itself comes from its own site alone. */
const FERRETDB: GoProgram = {
  name: "ferretdb",
  source: "github.com/FerretDB/FerretDB/cmd/ferretdb@v1.24.0",
  missingFiles: { "build/version/version.txt": "v1.24.0\n" },
};

export const HOW_TO_GET_FERRETDB = "npm run services:install ferretdb (Go 1.24 or newer builds it in minutes)";

export const canHaveFerretdb = (): Promise<boolean> => canHaveGoProgram(FERRETDB);
export const buildFerretdb = (): Promise<string> => goProgram(FERRETDB);

export async function startFerretdb(): Promise<TestServer> {
  const [folder, port] = [await serverFolder("ferretdb"), await freePort()];
  const [data, state] = [join(folder, "data"), join(folder, "state")];
  for (const each of [data, state]) await mkdir(each);
  return startServer({
    name: "ferretdb",
    url: `mongodb://127.0.0.1:${port}/`,
    port,
    folder,
    program: await goProgram(FERRETDB),
    arguments: [
      ...["--handler=sqlite", `--sqlite-url=file:${data}/`, `--state-dir=${state}`, `--listen-addr=127.0.0.1:${port}`],
      ...["--debug-addr=-", "--telemetry=disable", "--log-level=warn"],
    ],
    stopSignal: "SIGTERM",
    probe: async () => {
      const socket = createConnection(port, "127.0.0.1");
      try {
        await once(socket, "connect");
      } finally {
        socket.destroy();
      }
    },
  });
}
