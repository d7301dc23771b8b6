import type { Page } from "playwright-core";

/** A view of Studio on the story's store: its address, and what is there once it is ready. */
export interface StudioView {
  readonly name: string;
  readonly address: string;
  readonly ready: string;
  readonly prepare?: (page: Page) => Promise<unknown>;
}

export const VIEWS: readonly StudioView[] = [
  { name: "threads", address: "#/threads", ready: "table.threads" },
  { name: "inbox", address: "#/inbox", ready: ".inbox .card" },
  { name: "search", address: "#/search?words=cheaper", ready: ".cards .card" },
  { name: "messages", address: "#/t/trip-42/messages", ready: "article.message[data-message]" },
  { name: "messages-doubt", address: "#/t/billing-7/messages", ready: "article.message[data-message]" },
  { name: "timeline", address: "#/t/trip-42/timeline", ready: ".timeline li" },
  { name: "ledger", address: "#/t/trip-42/ledger", ready: ".panel table" },
  { name: "ledger-doubt", address: "#/t/billing-7/ledger", ready: ".doubts" },
  {
    name: "state",
    address: "#/t/trip-42/state",
    ready: ".tree",
    prepare: (page) => page.locator(".tree .opener", { hasText: "messages" }).click(),
  },
  { name: "lineage", address: "#/t/trip-42/lineage", ready: "svg.lineage" },
  { name: "charts", address: "#/t/trip-42/charts", ready: ".chart" },
  { name: "graph", address: "#/t/research-graph/graph", ready: ".graph .field-change" },
  { name: "diff", address: "#/diff?a=trip-42~2&b=trip-42", ready: ".message" },
  { name: "compare", address: "#/compare?a=trip-42&b=trip-42~3", ready: ".pair .message" },
  { name: "compare-empty", address: "#/compare", ready: ".empty" },
  {
    name: "items",
    address: `#/items?key=${encodeURIComponent(JSON.stringify([["memories", "users", "ann"], "seat"]))}`,
    ready: "meter",
  },
  { name: "people", address: "#/people", ready: ".empty" },
  { name: "health", address: "#/health", ready: ".facts-list" },
  {
    name: "dialog-fork",
    address: "#/t/trip-42/messages",
    ready: "article.message[data-message]",
    prepare: (page) => page.getByRole("button", { name: "Fork", exact: true }).click(),
  },
  {
    name: "dialog-answer",
    address: "#/inbox",
    ready: ".inbox .card",
    prepare: (page) =>
      page
        .locator(".inbox .card", { hasText: "book_flight" })
        .getByRole("button", { name: "Answer", exact: true })
        .click(),
  },
  {
    name: "dialog-settle",
    address: "#/t/billing-7/ledger",
    ready: ".doubts",
    prepare: (page) => page.getByRole("button", { name: "Say how it ended" }).first().click(),
  },
  { name: "dialog-keys", address: "#/threads", ready: "table.threads", prepare: (page) => page.keyboard.press("?") },
];
