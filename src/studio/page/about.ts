import { computed, signal } from "@preact/signals";
import type { StoreAnswer } from "../api.ts";

/** What this Studio is: asked once, at the start. */
export const about = signal<StoreAnswer | undefined>(undefined);
export const mayWrite = computed(() => about.value?.mayWrite === true);
export const mayDelete = computed(() => about.value?.mayDelete === true);

export type Theme = "system" | "light" | "dark";
const THEME_KEY = "holdfast-studio-theme";

export const theme = signal<Theme>("system");

export function useTheme(wanted: Theme): void {
  theme.value = wanted;
  localStorage.setItem(THEME_KEY, wanted);
  document.documentElement.dataset["theme"] = wanted;
}

export function recallTheme(): void {
  const kept = localStorage.getItem(THEME_KEY);
  useTheme(kept === "light" || kept === "dark" ? kept : "system");
}

/** One line at the bottom, read out by screen readers, gone after a while. */
export const notice = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

export function tell(text: string): void {
  notice.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    notice.value = "";
  }, 6000);
}

export async function copy(text: string, what: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  tell(`${what} copied`);
}
