import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { linesOf } from "../agent/stored-thread.ts";
import { describeWithChromium } from "./with-chromium.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOREVER = "3600000";
const ANSWER = '["p99 was 2.1 s at 14:02"]\nCheckout was slow at 14:02.\n';

// A browser on a busy machine is slow; these only end what hangs.
/** `examples/19-page.ts serve`, in a process of its own. */
class Server {
  static readonly running = new Set<Server>();
  readonly #child: ChildProcess;
  #output = "";
  #onOutput: () => void = () => undefined;

  constructor(port: string, folder: string, pauseMs: string) {
    const words = ["--import", "tsx", "examples/19-page.ts", "serve", port, folder, pauseMs];
    this.#child = spawn(process.execPath, words, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#onOutput();
      });
    }
    this.#child.once("exit", () => this.#onOutput());
    Server.running.add(this);
  }

  /** What it prints, once that is there. */
  async says(words: RegExp): Promise<string> {
    for (;;) {
      const found = words.exec(this.#output);
      if (found !== null) return found[1] ?? found[0];
      if (this.#child.exitCode !== null) throw new Error(`the server ended: ${this.#output}`);
      await new Promise<void>((resolve) => {
        this.#onOutput = resolve;
      });
    }
  }

  async kill(): Promise<void> {
    if (!Server.running.delete(this)) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }
}

describeWithChromium("a page whose server is killed in the middle of an answer and comes back", (open) => {
  let browser: Browser;
  let context: BrowserContext;
  let folder: string;
  beforeAll(async () => {
    browser = await open();
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-page-"));
    context = await browser.newContext();
  });
  afterEach(async () => {
    for (const server of Server.running) await server.kill();
    await context?.close();
    await rm(folder, { recursive: true });
  });

  /** A page that is shown the beginning of an answer, whose server is then killed. Gives the server's port. */
  async function cutOff(): Promise<{ page: Page; port: string }> {
    const server = new Server("0", folder, FOREVER);
    const url = await server.says(/open (.+)/);
    const page = await context.newPage();
    // Sooner than the test ends, so that a failure says what it waited for.
    page.setDefaultTimeout(60_000);
    await page.goto(url);
    await page.getByText("ready", { exact: true }).waitFor();
    await page.getByRole("button").click();
    await page.getByText("25 %").waitFor();
    await server.kill();
    await page.getByText("the server is away").waitFor();
    return { page, port: new URL(url).port };
  }

  const stored = async (): Promise<readonly string[]> => {
    await using checkpointer = sqliteCheckpointer({ path: join(folder, "agents.db") });
    const state = await checkpointer.load("demo");
    return state === undefined ? [] : linesOf(state);
  };
  const WHOLE = [
    "user: Was checkout slow?",
    "assistant: (calls look_up)",
    "tool: p99 was 2.1 s at 14:02",
    "assistant: Checkout was slow at 14:02.",
  ];

  test("the page reconnects by itself and ends with the whole answer, once", async () => {
    const { page, port } = await cutOff();
    expect(await stored(), "what was durable when the server was killed").toEqual(WHOLE.slice(0, 2));
    const server = new Server(port, folder, "0");
    await page.getByText("ready", { exact: true }).waitFor();
    expect(await page.locator("pre").textContent()).toBe(ANSWER);
    expect(await server.says(/went on with (.+)/)).toBe("demo: complete");
    expect(await stored()).toEqual(WHOLE);
  });

  test("a page that was away while the answer came is shown it when it is back", async () => {
    const { page, port } = await cutOff();
    await context.setOffline(true);
    const server = new Server(port, folder, "0");
    expect(await server.says(/went on with (.+)/)).toBe("demo: complete");
    await context.setOffline(false);
    await page.getByText("ready", { exact: true }).waitFor();
    expect(await page.locator("pre").textContent()).toBe(ANSWER);
    expect(await stored()).toEqual(WHOLE);
  });
});
