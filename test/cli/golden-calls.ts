/**
 * What a command is called with. `{}` is a thread, `{some}` a pattern of not too many, `{new}` a store that does
 * not exist yet, `{text}` a file's text, `{folder}` where the files are.
 */
export type Calls = Readonly<Record<string, readonly string[]>>;

/** On a store of threads. Those that write are asked what they would do, here and below. */
export const ON_THREADS: Calls = {
  threads: [],
  show: ["{}"],
  history: ["{}"],
  diff: ["{}", "@-1", "@0"],
  search: ["please"],
  tail: ["{}"],
  stats: [],
  capabilities: [],
  inbox: [],
  "lease show": ["{}"],
  export: ["{some}"],
  retention: ["--rules={folder}/rules.json", "--dry-run"],
};

/** On a store that has items as well. */
export const ON_ITEMS: Calls = {
  fork: ["{}", "new", "--settle-open", "--dry-run"],
  answer: ["{}", "call-1/1", '"window"', "--dry-run"],
  send: ["{}", "and the second leg?", "--id=m-1", "--dry-run"],
  cancel: ["{}", "--id=c-1", "--dry-run"],
  settle: ["{}", "call-1", "done", "--by=ann", "--dry-run"],
  delete: ["{}", "--dry-run"],
  vacuum: ["--keep-last=1", "--dry-run"],
  "lease break": ["{}", "--dry-run"],
  verify: [],
  repair: ["{}", "--dry-run"],
  migrate: ["--check"],
  copy: ["{new}", "--dry-run"],
  import: ["-", "--dry-run"],
  serve: ["--dry-run"],
  inventory: ["ann"],
  erase: ["ann", "--dry-run"],
  "export-user": ["ann"],
  "hold place": ["--subject=ann", "--reason={text}", "--by={text}", "--dry-run"],
  "store namespaces": [],
  "store items": [],
  "store get": ["users/ann", "k0"],
  "store search": ["/", "seat"],
  memories: [],
};

/** On a store with holds; `{hold}` is one of them. */
export const ON_HOLDS: Calls = {
  "hold list": [],
  "hold lift": ["{hold}", "--reason={text}", "--by={text}", "--dry-run"],
};

/** Without a store. */
export const ON_FILES: Calls = {
  "receipt verify": ["{folder}/receipts.ndjson", "--key=env:ERASURE_KEY"],
  init: ["{folder}/new", "--dry-run"],
  token: [],
};

/** It proves itself by writing and taking away: every thread is afterwards what it was, and not every byte. */
export const ON_WRITABLE: Calls = {
  doctor: ["--quick", "--cases=instances"],
};

/** What has no golden output, and why. */
export const WITHOUT: Readonly<Record<string, string>> = {
  studio: "runs until it is ended, and is tried in a browser: test/studio",
  completion: "a script made from the table, whose every option table.test.ts looks for",
};

/** What is another in every run, on another machine, or with another case for drivers, by the kind of thing it is. */
export const withoutChance = (text: string): string =>
  text
    .replace(/hf_[\w-]{43}/g, "<token>")
    .replace(/("sha256": ?")[0-9a-f]{64}/g, "$1<hash>")
    .replace(/(\\"sum\\":\\")[\w-]{16}/g, "$1<checksum>")
    // The version of an item, which names the write that made it.
    .replace(/(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z\d])[\w-]{24}(?![\w-])/g, "<version>")
    .replace(/\b[0-9a-f]{24}(?:-[0-9a-z]{1,10})?\b/g, "<id>")
    .replace(/(better-sqlite3(?: |": ?"))[\d.]+/g, "$1<version>")
    .replace(/\d+( passed| not applicable)/g, "<count>$1")
    .replace(/("(?:passed|notApplicable)": ?)\d+/g, "$1<count>")
    .replace(/("freeBytes": ?)\d+/g, "$1<bytes>")
    .replace(/(free\s+(?:\u001b\[22m\s+)?)\d[\d,.]* [kMGT]?B/g, "$1<size>");
