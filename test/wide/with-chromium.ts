import { execFileSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";
import { describe } from "vitest";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** The system's browser: none is downloaded. */
export function chromiumPath(): string | undefined {
  const named = process.env["HOLDFAST_TEST_CHROMIUM"];
  if (named !== undefined) return named;
  for (const name of NAMES) {
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // The next one.
    }
  }
  return undefined;
}

const isRequired = (process.env["HOLDFAST_TEST_REQUIRE"] ?? "").split(",").some((name) => name.trim() === "chromium");

/** A suite in a browser. Skipped, with a word, where there is none; a failure where it is required. */
export function describeWithChromium(what: string, suite: (open: () => Promise<Browser>) => void): void {
  const path = chromiumPath();
  if (path === undefined && isRequired) throw new Error("HOLDFAST_TEST_REQUIRE asks for chromium, and there is none");
  if (path === undefined) {
    describe.skip(`${what} (skipped: no chromium on this machine; apt-get install chromium)`, () =>
      suite(() => openChromium("")));
    return;
  }
  describe(what, () => suite(() => openChromium(path)));
}

export function openChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--js-flags=--expose-gc"],
  });
}
