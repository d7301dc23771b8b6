import type { CommandSpec } from "../command.ts";
import { DRY_RUN } from "./option-specs.ts";

/** Commands around the store. */
export const SERVING: readonly CommandSpec[] = [
  {
    name: "serve",
    summary: "put the store on HTTP",
    store: "write",
    arguments: [],
    options: {
      items: { value: "url", isStore: true, help: "serve the items of this store as well; it may be the same one" },
      host: { value: "address", help: "the address to listen on (default 127.0.0.1)" },
      port: { value: "n", help: "default 8420; 0 for any free port" },
      tokens: {
        value: "file",
        help: "who may do what: a JSON list, or one entry a line as `holdfast token` prints them",
      },
      "allowed-host": { value: "name", repeatable: true, help: "a name that clients use" },
      "dry-run": DRY_RUN,
    },
    examples: [
      "serve sqlite:./agents.db --tokens tokens.json",
      "serve env:DATABASE_URL --items env:DATABASE_URL --tokens tokens.json",
    ],
    load: () => import("../commands/serving/serve.ts"),
  },
  {
    name: "studio",
    summary: "look at the store in a browser: threads, messages, calls, forks, differences",
    store: "read",
    arguments: [],
    options: {
      port: { value: "n", help: "default 8421, or the next free port; 0 for any" },
      write: { help: "fork, answer and settle from the page; without it nothing can be changed" },
      "allow-delete": { help: "with --write: delete threads and erase people" },
      "no-open": { help: "print the address and open no browser" },
      "cache-mb": { value: "n", help: "how much of the store is kept in memory (default 256)" },
      ledger: {
        value: "url",
        help: "the store that remembers what was erased; or HOLDFAST_ERASURE_LEDGER. With the key in HOLDFAST_ERASURE_KEY",
      },
    },
    notes:
      "The page and its API are served on this machine alone, and need the token in the address it prints. It needs no network. Ctrl-C ends it.",
    examples: ["studio sqlite:./agents.db", "studio env:DATABASE_URL --write --no-open"],
    load: () => import("../commands/serving/studio.ts"),
  },
  {
    name: "token",
    summary: "make a token for serve",
    store: "none",
    arguments: [],
    options: {
      scopes: {
        value: "list",
        help: "threads:read, threads:write, threads:delete, items:read, items:write, items:delete (default: the first two)",
      },
      tenant: { value: "name", help: "whose threads it reaches" },
    },
    notes:
      "The token goes to stdout, for the client. The entry for the service goes to stderr, or with -o json beside it.",
    examples: ["token --scopes threads:read 2>> tokens.ndjson"],
    load: () => import("../commands/serving/token.ts"),
  },
  {
    name: "init",
    summary: "write a small agent that runs at once, without a key",
    store: "none",
    arguments: [{ name: "folder", optional: true }],
    options: {
      "keep-in": { value: "url", help: "the store of its threads (default file:./threads)" },
      model: { value: "name", help: "a model such as anthropic:… or openai:… (default: a few rules, without a model)" },
      "dry-run": DRY_RUN,
    },
    notes: "Writes agent.mjs, package.json and .env.example, and never overwrites a file.",
    examples: ["init my-agent", "init my-agent --keep-in sqlite:./agents.db"],
    load: () => import("../commands/serving/init.ts"),
  },
  {
    name: "completion",
    summary: "print a script that completes commands and options in a shell",
    store: "none",
    arguments: [{ name: "shell" }],
    options: {},
    examples: ["completion bash > ~/.local/share/bash-completion/completions/holdfast"],
    load: () => import("../commands/serving/completion.ts"),
  },
];
