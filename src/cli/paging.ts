import type { Page } from "../driver/page.ts";
import type { ThreadWarning } from "../driver/warnings.ts";
import type { CommandCall } from "./command.ts";
import { warningText } from "./output/wording.ts";

/** The items of a list, page by page, up to `--limit` or, with `--all`, to the end. */
export class Walk<Item> {
  /** Where to continue a list that was cut short. */
  cursor: string | undefined;
  readonly warnings: ThreadWarning[] = [];
  readonly #call: CommandCall;
  readonly #next: (place: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>;

  constructor(
    call: CommandCall,
    next: (place: { readonly limit: number; readonly cursor?: string }) => Promise<Page<Item>>,
  ) {
    this.#call = call;
    this.#next = next;
  }

  async *items(isAll: boolean = this.#call.options.flag("all")): AsyncGenerator<Item, void, undefined> {
    const { options, world } = this.#call;
    const limit = options.count("limit", 50, 1);
    this.cursor = options.text("cursor");
    do {
      world.signal.throwIfAborted();
      const place = { limit: isAll ? 500 : limit, ...(this.cursor !== undefined && { cursor: this.cursor }) };
      const page = await this.#next(place);
      this.warnings.push(...page.warnings);
      yield* page;
      this.cursor = page.cursor;
    } while (isAll && this.cursor !== undefined);
  }

  /** Nothing is cut off silently, and no damaged thread is passed over. */
  async report(): Promise<void> {
    const { note, printer } = this.#call;
    for (const warning of this.warnings) await note(warningText(warning));
    if (this.cursor !== undefined && printer.format !== "json") await note(`more: --cursor ${this.cursor}`);
  }
}
