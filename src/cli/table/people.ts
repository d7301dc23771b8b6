import type { CommandSpec, OptionSpec } from "../command.ts";
import { DRY_RUN, EXIT_CODE, YES } from "./option-specs.ts";

const USER = { name: "user" };
const ALSO: OptionSpec = {
  value: "url",
  repeatable: true,
  isStore: true,
  help: "another store that holds something about people",
};
const KEY: OptionSpec = {
  value: "env:NAME",
  help: "the secret of the receipts, from a variable; or HOLDFAST_ERASURE_KEY",
};
const KEY_FILE: OptionSpec = { value: "file", help: "the secret of the receipts, from a file" };

const LEDGER: OptionSpec = {
  value: "url",
  isStore: true,
  help: "the store that remembers what was erased, apart from the others; or HOLDFAST_ERASURE_LEDGER",
};
const BY: OptionSpec = { value: "who", help: "who decided it; appears in errors and receipts" };
const REASON: OptionSpec = { value: "text", help: "why, without naming a person; appears in errors and receipts" };

/** Commands about what is kept of a person. */
export const PEOPLE: readonly CommandSpec[] = [
  {
    name: "inventory",
    summary: "where something about a person is",
    store: "read",
    arguments: [USER],
    options: { also: ALSO, "exit-code": EXIT_CODE },
    notes: "A person is the subject of messages, values, items and whole threads, as docs/personal-data.md explains.",
    examples: ["inventory env:DATABASE_URL user-17 --also sqlite:./memories.db"],
    load: () => import("../commands/people/inventory.ts"),
  },
  {
    name: "export-user",
    summary: "everything about a person, for them to have",
    store: "read",
    arguments: [USER],
    options: { also: ALSO },
    notes: "One JSON object a line, whatever -o says; the first one describes the others.",
    examples: ["export-user env:DATABASE_URL user-17 > user-17.ndjson"],
    load: () => import("../commands/people/export-user.ts"),
  },
  {
    name: "erase",
    summary: "erase everything about a person, with a signed receipt",
    store: "write",
    arguments: [USER],
    options: {
      also: ALSO,
      ledger: LEDGER,
      key: KEY,
      "key-file": KEY_FILE,
      reason: { value: "text", help: "why, without naming the person; appears in the receipt" },
      receipt: { value: "file", help: "add the receipt to this file; the ledger has it in any case" },
      "keep-process": { help: "leave checkpoints as they are; erase user data and items only" },
      "accept-unreached": { help: "give a receipt although something could not be reached; it says what" },
      "accept-held": { help: "give a receipt although legal holds keep a part, which stays; it names them" },
      "dry-run": DRY_RUN,
      yes: YES,
    },
    notes:
      "What was begun is finished by the next erasure with the same ledger. Ends with 3 where something could not be reached. Backups and other copies are out of reach; the receipt says so.",
    examples: [
      "erase env:DATABASE_URL user-17 --dry-run",
      "erase env:DATABASE_URL user-17 --ledger sqlite:./erasures.db --key env:ERASURE_KEY",
    ],
    load: () => import("../commands/people/erase.ts"),
  },
  {
    name: "receipt verify",
    summary: "prove that receipts of erasures are unchanged since they were signed",
    store: "none",
    arguments: [{ name: "file" }],
    options: {
      "public-key": { value: "file", help: "the public key, as erase prints it with -o json" },
      key: KEY,
      "key-file": KEY_FILE,
    },
    notes: "Exits with 1 if they are not. Without --public-key it follows from the secret.",
    examples: ["receipt verify receipts.ndjson --public-key erasures.pem"],
    load: () => import("../commands/people/receipt-verify.ts"),
  },
  {
    name: "hold place",
    summary: "keep what is about a person, or threads, from being erased, deleted or vacuumed",
    store: "write",
    arguments: [],
    options: {
      subject: { value: "person", help: "everything about this person" },
      threads: { value: "prefix", help: "threads whose ids begin with it" },
      reason: REASON,
      by: BY,
      also: ALSO,
      "dry-run": DRY_RUN,
    },
    notes:
      "Counts from the moment it is there, also for what others are erasing or deleting just now: docs/retention.md.",
    examples: ["hold place env:DATABASE_URL --subject user-17 --reason 'case 17' --by counsel@example.com"],
    load: () => import("../commands/people/hold-place.ts"),
  },
  {
    name: "hold list",
    summary: "legal holds: who placed them, why and since when",
    store: "read",
    arguments: [],
    options: { all: { help: "include those that were lifted" }, also: ALSO, "exit-code": EXIT_CODE },
    examples: ["hold list env:DATABASE_URL --all"],
    load: () => import("../commands/people/hold-list.ts"),
  },
  {
    name: "hold lift",
    summary: "lift a legal hold; it stays in the list",
    store: "write",
    arguments: [{ name: "hold" }],
    options: { reason: REASON, by: BY, also: ALSO, "dry-run": DRY_RUN, yes: YES },
    examples: ["hold lift env:DATABASE_URL 5f0c… --reason 'case 17 is closed' --by counsel@example.com"],
    load: () => import("../commands/people/hold-lift.ts"),
  },
  {
    name: "retention",
    summary: "remove what rules no longer keep, with a signed receipt",
    store: "write",
    arguments: [],
    options: {
      rules: { value: "file", help: "a JSON list of rules" },
      also: ALSO,
      ledger: LEDGER,
      key: KEY,
      "key-file": KEY_FILE,
      reason: { value: "text", help: "why, without naming a person; appears in the receipt" },
      "dry-run": DRY_RUN,
      yes: YES,
    },
    notes:
      "The first rule that fits a thread or an item decides about it; what no rule fits stays. Ends with 3 where a legal hold kept something or a thread could not be looked at. A run that was interrupted is finished by the next one.",
    examples: [
      "retention env:DATABASE_URL --rules retention.json --dry-run",
      "retention env:DATABASE_URL --rules retention.json --ledger sqlite:./erasures.db --key env:ERASURE_KEY",
    ],
    load: () => import("../commands/people/retention.ts"),
  },
];
