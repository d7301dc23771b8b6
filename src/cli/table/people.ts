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

/** Commands about what is kept of a person. */
export const PEOPLE: readonly CommandSpec[] = [
  {
    name: "inventory",
    summary: "where something about a person is",
    store: "read",
    arguments: [USER],
    options: { also: ALSO, "exit-code": EXIT_CODE },
    notes: "A person is the subject of messages, values, items and whole threads, as docs/personal-data.md tells.",
    examples: ["inventory env:DATABASE_URL user-17 --also sqlite:./memories.db"],
    load: () => import("../commands/inventory.ts"),
  },
  {
    name: "export-user",
    summary: "everything about a person, for them to have",
    store: "read",
    arguments: [USER],
    options: { also: ALSO },
    notes: "One JSON object a line, whatever -o says; the first one describes the others.",
    examples: ["export-user env:DATABASE_URL user-17 > user-17.ndjson"],
    load: () => import("../commands/export-user.ts"),
  },
  {
    name: "erase",
    summary: "erase everything about a person, with a signed receipt",
    store: "write",
    arguments: [USER],
    options: {
      also: ALSO,
      ledger: {
        value: "url",
        isStore: true,
        help: "the store that remembers what was erased, apart from the others; or HOLDFAST_ERASURE_LEDGER",
      },
      key: KEY,
      "key-file": KEY_FILE,
      reason: { value: "text", help: "why, without naming the person; stands in the receipt" },
      receipt: { value: "file", help: "add the receipt to this file; the ledger has it in any case" },
      "keep-process": { help: "leave checkpoints as they are; erase user data and items only" },
      "accept-unreached": { help: "give a receipt although something could not be reached; it says what" },
      "dry-run": DRY_RUN,
      yes: YES,
    },
    notes:
      "What was begun is finished by the next erasure with the same ledger. Ends with 3 where something could not be reached. Backups and other copies are out of reach; the receipt says so.",
    examples: [
      "erase env:DATABASE_URL user-17 --dry-run",
      "erase env:DATABASE_URL user-17 --ledger sqlite:./erasures.db --key env:ERASURE_KEY",
    ],
    load: () => import("../commands/erase.ts"),
  },
  {
    name: "receipt verify",
    summary: "prove that receipts of erasures are as they were signed",
    store: "none",
    arguments: [{ name: "file" }],
    options: {
      "public-key": { value: "file", help: "the public key, as erase prints it with -o json" },
      key: KEY,
      "key-file": KEY_FILE,
    },
    notes: "Ends with 1 where they are not. Without --public-key it follows from the secret.",
    examples: ["receipt verify receipts.ndjson --public-key erasures.pem"],
    load: () => import("../commands/receipt-verify.ts"),
  },
];
