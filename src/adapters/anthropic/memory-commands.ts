import { StateError } from "../../errors.ts";
import type { OwnedPlace } from "../../memory/owner.ts";
import type { BaseStore } from "../../store/base-store.ts";
import type { Namespace } from "../../store/driver/store-driver.ts";
import type { AnthropicMemoryOptions, Handler } from "./memory-files.ts";
import { keyOfPath, pathOfKey } from "./memory-path.ts";
import { fileView, folderView, type MemoryFile, numbered } from "./memory-view.ts";

/**
 * A rename copies and then deletes. It is tried this often if the file is edited in between, so that no edit is lost.
 */
const MOST_ATTEMPTS = 5;
const PER_PAGE = 200;

/** The files of one namespace, and what a model may do with them. */
export class MemoryFiles {
  readonly #store: BaseStore;
  readonly #namespace: Namespace;
  readonly #metadata: OwnedPlace["metadata"];
  readonly #maxChars: number;
  readonly #maxFiles: number;

  constructor(
    { store, maxFileChars = 100_000, maxFiles = 500 }: AnthropicMemoryOptions,
    { namespace, metadata }: OwnedPlace,
  ) {
    this.#store = store;
    this.#namespace = namespace;
    this.#metadata = metadata;
    this.#maxChars = maxFileChars;
    this.#maxFiles = maxFiles;
  }

  view: Handler<"view"> = async ({ path, view_range }) => {
    const key = keyOfPath(path);
    if (key === undefined) return outside(path);
    const text = key === "" ? undefined : await this.#read(key);
    if (text !== undefined) return fileView(path, text, view_range);
    const inside = await this.#inside(key);
    if (key !== "" && inside.length === 0) return `The path ${path} does not exist. Please provide a valid path.`;
    return folderView(key, inside);
  };

  create: Handler<"create"> = async ({ path, file_text }) => {
    const key = keyOfPath(path);
    if (key === undefined) return outside(path);
    if (typeof file_text !== "string" || file_text.length > this.#maxChars) return this.#tooLong(path);
    const all = await this.#inside("");
    if (key === "" || all.some((file) => file.key.startsWith(`${key}/`))) return `Error: File ${path} already exists`;
    const folder = all.find((file) => key.startsWith(`${file.key}/`));
    if (folder !== undefined) return `Error: ${pathOfKey(folder.key)} is a file, not a directory`;
    if (all.length >= this.#maxFiles)
      return `Error: There are ${this.#maxFiles} files already. Delete or merge some first`;
    return (await this.#createFile(key, file_text))
      ? `File created successfully at: ${path}`
      : `Error: File ${path} already exists`;
  };

  replace: Handler<"str_replace"> = async ({ path, old_str, new_str }) => {
    const key = keyOfPath(path);
    if (key === undefined) return outside(path);
    return this.#edit(key, `Error: The path ${path} does not exist. Please provide a valid path.`, (text) => {
      const places = old_str === "" ? [] : occurrences(text, old_str);
      if (places.length === 0) {
        return { answer: `No replacement was performed, old_str \`${old_str}\` did not appear verbatim in ${path}.` };
      }
      if (places.length > 1) {
        const lines = places.map((place) => text.slice(0, place).split("\n").length).join(", ");
        return {
          answer: `No replacement was performed. Multiple occurrences of old_str \`${old_str}\` in lines: ${lines}. Please ensure it is unique`,
        };
      }
      const place = places[0] ?? 0;
      const edited = text.slice(0, place) + new_str + text.slice(place + old_str.length);
      if (edited.length > this.#maxChars) return { answer: this.#tooLong(path) };
      return { edited, answer: `The memory file has been edited.\n${snippet(edited, place)}` };
    });
  };

  insert: Handler<"insert"> = async ({ path, insert_line, insert_text }) => {
    const key = keyOfPath(path);
    if (key === undefined) return outside(path);
    return this.#edit(key, `Error: The path ${path} does not exist`, (text) => {
      const lines = text.split("\n");
      if (!Number.isInteger(insert_line) || insert_line < 0 || insert_line > lines.length) {
        return {
          answer: `Error: Invalid \`insert_line\` parameter: ${insert_line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
        };
      }
      const added = insert_text.replace(/\n$/, "").split("\n");
      const edited = [...lines.slice(0, insert_line), ...added, ...lines.slice(insert_line)].join("\n");
      if (edited.length > this.#maxChars) return { answer: this.#tooLong(path) };
      return { edited, answer: `The file ${path} has been edited.` };
    });
  };

  delete: Handler<"delete"> = async ({ path }) => {
    const key = keyOfPath(path);
    if (key === undefined) return outside(path);
    if (key === "") return `Error: ${path} itself cannot be deleted. Delete what is in it`;
    let count = (await this.#store.delete(this.#namespace, key)) ? 1 : 0;
    for (const file of await this.#inside(key)) if (await this.#store.delete(this.#namespace, file.key)) count++;
    return count === 0 ? `Error: The path ${path} does not exist` : `Successfully deleted ${path}`;
  };

  rename: Handler<"rename"> = async ({ old_path, new_path }) => {
    const [from, to] = [keyOfPath(old_path), keyOfPath(new_path)];
    if (from === undefined || from === "") return outside(old_path);
    if (to === undefined || to === "") return outside(new_path);
    const all = await this.#inside("");
    const moved = all.filter(({ key }) => key === from || key.startsWith(`${from}/`));
    if (moved.length === 0) return `Error: The path ${old_path} does not exist`;
    const isTaken = all.some(({ key }) => key === to || key.startsWith(`${to}/`) || to.startsWith(`${key}/`));
    if (isTaken || to.startsWith(`${from}/`)) return `Error: The destination ${new_path} already exists`;
    for (const { key } of moved) {
      if (!(await this.#move(key, to + key.slice(from.length))))
        return `Error: The destination ${new_path} already exists`;
    }
    return `Successfully renamed ${old_path} to ${new_path}`;
  };

  /** Copied first, deleted then: a crash in between leaves two, never none. */
  async #move(from: string, to: string): Promise<boolean> {
    let copied = false;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const item = await this.#store.getItem<{ text: string }>(this.#namespace, from);
      if (item === undefined) return copied;
      if (copied) await this.#store.put(this.#namespace, to, item.value, { metadata: this.#metadata });
      else if (!(await this.#createFile(to, item.value.text))) return false;
      copied = true;
      const isGone = await this.#unlessConflict(() =>
        this.#store.delete(this.#namespace, from, { expectedVersion: item.version }),
      );
      if (isGone) return true;
    }
    throw new StateError("CONFLICT", `the file ${pathOfKey(from)} is being edited; rename it again`);
  }

  async #createFile(key: string, text: string): Promise<boolean> {
    return this.#unlessConflict(() =>
      this.#store.put(this.#namespace, key, { text }, { expectedVersion: null, metadata: this.#metadata }),
    );
  }

  async #unlessConflict(write: () => Promise<unknown>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      if (StateError.is(error, "CONFLICT")) return false;
      throw error;
    }
  }

  /** Two edits at once: both are made, one after the other. */
  async #edit(
    key: string,
    absent: string,
    change: (text: string) => { readonly answer: string; readonly edited?: string },
  ): Promise<string> {
    if (key === "" || (await this.#read(key)) === undefined) return absent;
    let answer = absent;
    await this.#store.update<{ text: string }>(this.#namespace, key, (current) => {
      if (current === undefined) return undefined;
      const result = change(current.text);
      answer = result.answer;
      return result.edited === undefined ? current : { text: result.edited };
    });
    return answer;
  }

  async #read(key: string): Promise<string | undefined> {
    return (await this.#store.get<{ text: string }>(this.#namespace, key))?.text;
  }

  /** Every file below a folder; all of them for `""`. */
  async #inside(folder: string): Promise<readonly MemoryFile[]> {
    const files: MemoryFile[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#store.list<{ text: string }>(this.#namespace, {
        limit: PER_PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { key, value } of page) {
        if (folder === "" || key.startsWith(`${folder}/`)) files.push({ key, text: value.text });
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
    return files;
  }

  #tooLong(path: string): string {
    return `Error: ${path} would be longer than ${this.#maxChars} characters. Keep it shorter, or use several files`;
  }
}

const outside = (path: unknown): string =>
  `Error: Invalid path ${String(path)}. Paths begin with /memories and stay inside it`;

function occurrences(text: string, part: string): readonly number[] {
  const places: number[] = [];
  for (let place = text.indexOf(part); place !== -1; place = text.indexOf(part, place + part.length))
    places.push(place);
  return places;
}

/** The lines around a place, with their numbers. */
function snippet(text: string, place: number): string {
  const lines = text.split("\n");
  const line = text.slice(0, place).split("\n").length;
  return numbered(lines, Math.max(1, line - 3), line + 3);
}
