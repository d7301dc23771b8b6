#!/usr/bin/env node
import { createInterface } from "node:readline/promises";
import { lookForPeersIn } from "../internal/import-peer.ts";
import { EXIT } from "./exit-codes.ts";
import { runLine } from "./run.ts";
import { secretsIn } from "./store-url.ts";
import { Ended, type Input, type Output } from "./world.ts";

const ending = new AbortController();

/** A file that the output is sent to cannot grow. */
const NO_ROOM: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** The process ends when everything is written: `process.exit` would cut off what a pipe has not taken yet. */
function outputTo(stream: NodeJS.WriteStream): Output {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    ending.abort(new Ended("closed pipe"));
    // The reader of the pipe has seen enough.
    if (error.code === "EPIPE") return;
    process.exitCode = NO_ROOM.has(error.code ?? "") ? EXIT.full : EXIT.other;
    if (stream === process.stderr) return;
    process.stderr.write(`holdfast: the output cannot be written, and is not whole: ${error.message}\n`);
  });
  const write = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      if (stream.destroyed || stream.writableEnded) return reject(new Ended("closed pipe"));
      stream.write(text, (error) => (error ? reject(new Ended("closed pipe")) : resolve()));
    });
  // A terminal that does not know its size says 0.
  return { write, isTerminal: stream.isTTY === true, columns: stream.columns || 80 };
}

const stdin: Input = {
  isTerminal: process.stdin.isTTY === true,
  chunks: () => process.stdin,
  line: async () => {
    const reader = createInterface({ input: process.stdin, terminal: false });
    try {
      for await (const line of reader) return line;
      return "";
    } finally {
      reader.close();
    }
  },
};

for (const by of ["SIGINT", "SIGTERM"] as const) {
  process.once(by, () => {
    ending.abort(new Ended(by));
    // A second one ends at once.
    process.once(by, () => process.kill(process.pid, "SIGKILL"));
  });
}

// Node warns on stderr that its SQLite module is new, which does not help a user of this
// command.
process.removeAllListeners("warning");
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") process.stderr.write(`holdfast: ${message}\n`);
});

const argv = process.argv.slice(2);
// What others see of this process must not hold a password.
if (argv.some((argument) => secretsIn(argument).length > 0)) process.title = "holdfast";
lookForPeersIn(process.cwd());

const code = await runLine(argv, {
  env: process.env,
  stdout: outputTo(process.stdout),
  stderr: outputTo(process.stderr),
  stdin,
  now: Date.now,
  signal: ending.signal,
});
process.exitCode ??= code;
process.stdin.unref?.();
