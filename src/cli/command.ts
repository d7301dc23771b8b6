import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import type { Store } from "../store/store.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { GivenOptions } from "./given-options.ts";
import type { Printer } from "./output/printer.ts";
import type { World } from "./world.ts";

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
