import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { Store } from "../store/store.ts";
import { type ExitCode, NotConfirmed, UsageError } from "./exit-codes.ts";
import type { Printer } from "./output/printer.ts";
import { durationOf } from "./output/wording.ts";
import type { World } from "./world.ts";

type Value = string | boolean | readonly (string | boolean)[] | undefined;

/** The options of one call. Their names were checked against the table. */
export class GivenOptions {
  readonly #values: Readonly<Record<string, Value>>;

  constructor(values: Readonly<Record<string, Value>>) {
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  list(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
  }

  count(name: string, otherwise: number, least = 0, most = 10_000): number {
    const text = this.text(name);
    if (text === undefined) return otherwise;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new UsageError(`--${name} takes a whole number from ${least} to ${most}`);
  }

  /** In milliseconds. */
  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const ms = durationOf(text);
    if (ms === undefined) throw new UsageError(`--${name} takes a time such as 30m, 12h or 7d`);
    return ms;
  }
}

export interface OptionSpec {
  /** What stands behind it, as help shows it; without it the option is a switch. */
  readonly value?: string;
  readonly short?: string;
  readonly choices?: readonly string[];
  readonly repeatable?: true;
  /** It names stores, whose URLs may hold passwords that must not be printed. */
  readonly isStore?: true;
  readonly help: string;
}

export interface ArgumentSpec {
  readonly name: string;
  readonly optional?: true;
  /** Takes all that follow. */
  readonly rest?: true;
}

/** One command, as everything knows it: the parser, help, the docs, completion and the tests. */
export interface CommandSpec {
  /** One word or two. */
  readonly name: string;
  readonly summary: string;
  /** What it does to its store, or how many it takes. "read" opens it so that nothing can be changed. */
  readonly store: "none" | "read" | "write" | "two";
  readonly arguments: readonly ArgumentSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Behind `holdfast`. */
  readonly examples: readonly string[];
  /** A paragraph for help and docs. */
  readonly notes?: string;
  readonly load: () => Promise<CommandModule>;
}

export interface CommandModule {
  run(call: CommandCall): Promise<ExitCode>;
}

/** One command as it was called. */
export interface CommandCall {
  readonly world: World;
  readonly printer: Printer;
  /** By the names of the table. */
  readonly given: Readonly<Record<string, string>>;
  /** What the last argument took where it takes all that follow. */
  readonly rest: readonly string[];
  readonly options: GivenOptions;
  /** The URLs, secrets included: never for printing. */
  readonly stores: readonly string[];
  /**
   * The store, or the second one; closed when the command ends. Read access
   * unless it is asked for more. "create" makes a store that is not there.
   */
  open(access?: "read" | "write" | "create", which?: 0 | 1): Promise<Checkpointer>;
  /** The items of the store, or of another that an option named; closed when the command ends. Opened for reading by default. */
  openItems(access?: "read" | "write", url?: string): Promise<Store>;
  /** The threads of a store that an option named; as `open`. */
  openOther(url: string, access: "read" | "write"): Promise<Checkpointer>;
  /** A line for people, on stderr. */
  note(text: string): Promise<void>;
}

/**
 * Continues only when a person typed `expected`, or when `--yes` was given. Without a
 * terminal it does not wait: it ends and names the option that answers.
 */
export async function confirm(call: CommandCall, question: string, expected: string): Promise<void> {
  const { options, world, note } = call;
  if (options.flag("yes")) return;
  const { stdin, stderr, env } = world;
  const isCi = env["CI"] !== undefined && env["CI"] !== "";
  if (!stdin.isTerminal || !stderr.isTerminal || isCi) {
    throw new NotConfirmed(
      "this needs a confirmation, and there is no terminal to ask on: add --yes, or look first with --dry-run",
    );
  }
  await note(question);
  await stderr.write("> ");
  const typed = (await stdin.line()).trim();
  if (typed !== expected) throw new NotConfirmed("not confirmed; nothing was changed");
}
