import type { Reporter, TestModule } from "vitest/node";

/**
 * Says what was left out and names every failure once more, a line each, as the very last thing. The end of a long log
 * is what is kept and read; the reports above it are long.
 */
export class FailuresInShort implements Reporter {
  readonly #leftOut: string;

  constructor(leftOut: string) {
    this.#leftOut = leftOut;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { readonly message: string }[]): void {
    const lines = [
      ...modules.flatMap((module) => [
        ...module.errors().map(({ message }) => line(module.relativeModuleId, message)),
        ...[...module.children.allSuites()].flatMap((suite) =>
          suite.errors().map(({ message }) => line(`${module.relativeModuleId} > ${suite.fullName}`, message)),
        ),
        ...[...module.children.allTests("failed")].map((test) =>
          line(`${module.relativeModuleId} > ${test.fullName}`, test.result().errors?.[0]?.message ?? ""),
        ),
      ]),
      ...unhandled.map(({ message }) => line("outside of any test", message)),
    ];
    const failed = lines.length > 0 ? `\nFailed:\n${lines.join("\n")}\n` : "";
    process.once("exit", () => process.stdout.write(`${failed}\n${this.#leftOut}\n`));
  }
}

const line = (where: string, message: string): string => `- ${where}: ${message.split("\n", 1)[0]?.slice(0, 200)}`;
