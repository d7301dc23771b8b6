import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { wideIsInstalled } from "./installed.ts";

test.runIf(wideIsInstalled).each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "%s ends a program in the middle of a run, also where signal-exit is loaded",
  async (signal) => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-signals-"));
    const program = new URL("signalled-agent.ts", import.meta.url).pathname;
    const child = spawn(process.execPath, ["--import", "tsx", program, join(directory, "threads.db")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    const said = await Promise.race([once(child.stdout, "data"), ended]);
    expect(String(said[0])).toBe("begun\n");
    child.kill(signal);
    const [code, endedBy] = await ended;
    expect({ code, endedBy }).toEqual({ code: null, endedBy: signal });
    await rm(directory, { recursive: true });
  },
);
