import { createAnthropic } from "@ai-sdk/anthropic";
import { asSchema } from "@ai-sdk/provider-utils";
import { describe, expect, test } from "vitest";
import { InMemoryStore } from "../../backends/memory/store.ts";
import { anthropicMemory, type MemoryCommand } from "./memory-files.ts";

const filesOf = (options = {}) =>
  anthropicMemory({ store: new InMemoryStore(), namespace: ["files"], subject: "u", ...options });
const path = "/memories/notes.txt";

test("the AI SDK's memory tool takes it, and its schema lets every command through", async () => {
  const { execute } = filesOf();
  const tool = createAnthropic({ apiKey: "none" }).tools.memory_20250818({ execute: async (input) => execute(input) });
  const commands: readonly MemoryCommand[] = [
    { command: "create", path, file_text: "a\nb" },
    { command: "str_replace", path, old_str: "b", new_str: "c" },
    { command: "insert", path, insert_line: 2, insert_text: "d\n" },
    { command: "view", path, view_range: [2, 3] },
    { command: "rename", old_path: path, new_path: "/memories/old/notes.txt" },
    { command: "view", path: "/memories" },
    { command: "delete", path: "/memories/old" },
  ];
  const answers: unknown[] = [];
  for (const command of commands) {
    const checked = await asSchema(tool.inputSchema).validate?.(command);
    expect(checked).toMatchObject({ success: true });
    answers.push(await tool.execute?.(command as never, { toolCallId: "c", messages: [] }));
  }
  expect(answers).toEqual([
    "File created successfully at: /memories/notes.txt",
    "The memory file has been edited.\n     1\ta\n     2\tc",
    "The file /memories/notes.txt has been edited.",
    "Here's the content of /memories/notes.txt with line numbers:\n     2\tc\n     3\td",
    "Successfully renamed /memories/notes.txt to /memories/old/notes.txt",
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n5\t/memories\n5\t/memories/old\n5\t/memories/old/notes.txt",
    "Successfully deleted /memories/old",
  ]);
});

describe("the model's mistakes are reported in the wording it was trained on", () => {
  test.each<[string, MemoryCommand, string]>([
    [
      "a view of nothing",
      { command: "view", path: "/memories/x" },
      "The path /memories/x does not exist. Please provide a valid path.",
    ],
    ["a second create", { command: "create", path, file_text: "" }, `Error: File ${path} already exists`],
    [
      "a file where a folder is",
      { command: "create", path: "/memories/dir", file_text: "" },
      "Error: File /memories/dir already exists",
    ],
    [
      "a file inside a file",
      { command: "create", path: `${path}/x`, file_text: "" },
      `Error: ${path} is a file, not a directory`,
    ],
    [
      "an edit of nothing",
      { command: "str_replace", path: "/memories/x", old_str: "a", new_str: "b" },
      "Error: The path /memories/x does not exist. Please provide a valid path.",
    ],
    [
      "an edit of a folder",
      { command: "insert", path: "/memories/dir", insert_line: 0, insert_text: "b" },
      "Error: The path /memories/dir does not exist",
    ],
    [
      "words that are not there",
      { command: "str_replace", path, old_str: "zz", new_str: "b" },
      `No replacement was performed, old_str \`zz\` did not appear verbatim in ${path}.`,
    ],
    [
      "words that are there twice",
      { command: "str_replace", path, old_str: "one", new_str: "b" },
      `No replacement was performed. Multiple occurrences of old_str \`one\` in lines: 1, 3. Please ensure it is unique`,
    ],
    [
      "a line that is not there",
      { command: "insert", path, insert_line: 9, insert_text: "b" },
      "Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 3]",
    ],
    ["a deletion of nothing", { command: "delete", path: "/memories/x" }, "Error: The path /memories/x does not exist"],
    [
      "a deletion of everything",
      { command: "delete", path: "/memories" },
      "Error: /memories itself cannot be deleted. Delete what is in it",
    ],
    [
      "a rename onto something",
      { command: "rename", old_path: path, new_path: "/memories/dir/a" },
      "Error: The destination /memories/dir/a already exists",
    ],
    [
      "a rename into itself",
      { command: "rename", old_path: "/memories/dir", new_path: "/memories/dir/b" },
      "Error: The destination /memories/dir/b already exists",
    ],
    ["an unknown command", { command: "chmod", path } as unknown as MemoryCommand, "Error: Unknown command: chmod"],
  ])("%s", async (_, command, answer) => {
    const files = filesOf();
    await files.create({ path, file_text: "one\ntwo\none" });
    await files.create({ path: "/memories/dir/a", file_text: "x" });
    expect(await files.execute(command)).toBe(answer);
    expect(await files.view({ path })).toContain("     3\tone");
  });
});

test.each([
  "/etc/passwd",
  "/memories/../x",
  "/memories/a/../../x",
  "/memories//x",
  "/memoriesx",
  "memories/x",
  "/memories/%2e%2e/x",
  "/memories/a%2Fb",
  "/memories/..\\x",
  "/memories/.",
  "/memories/a\u0000b",
  "/memories/\ud800",
  "",
  7 as unknown as string,
])("%j is outside and stays there", async (outside) => {
  const store = new InMemoryStore();
  const files = anthropicMemory({ store, subject: "u" });
  expect(await files.create({ path: outside, file_text: "x" })).toMatch(/^Error: Invalid path/);
  expect(await files.rename({ old_path: "/memories/a", new_path: outside })).toMatch(/^Error: Invalid path/);
  expect(await store.list([], { recursive: true })).toEqual([]);
});

test("two people's files are apart, and a folder's name is no prefix of another's", async () => {
  const store = new InMemoryStore();
  const [ann, bob] = ["ann", "bob"].map((subject) => anthropicMemory({ store, subject }));
  await ann!.create({ path: "/memories/a/x", file_text: "1" });
  await ann!.create({ path: "/memories/ab/x", file_text: "2" });
  await ann!.delete({ path: "/memories/a" });
  expect(await ann!.view({ path: "/memories/ab/x" })).toContain("2");
  expect(await bob!.view({ path: "/memories/ab/x" })).toContain("does not exist");
});

test("edits that come at once are all made", async () => {
  const files = filesOf();
  await files.create({ path, file_text: "begin" });
  await Promise.all(
    Array.from({ length: 8 }, (_, index) => files.insert({ path, insert_line: 1, insert_text: `line ${index}` })),
  );
  const view = await files.view({ path });
  for (let index = 0; index < 8; index++) expect(view).toContain(`line ${index}`);
});

test("files have a longest length, and there is a largest number of them", async () => {
  const files = filesOf({ maxFileChars: 10, maxFiles: 1 });
  expect(await files.create({ path, file_text: "x".repeat(11) })).toMatch(/longer than 10 characters/);
  await files.create({ path, file_text: "x".repeat(10) });
  expect(await files.insert({ path, insert_line: 0, insert_text: "y" })).toMatch(/longer than 10 characters/);
  expect(await files.create({ path: "/memories/b", file_text: "" })).toMatch(/There are 1 files already/);
});
