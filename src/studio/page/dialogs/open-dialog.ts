import { signal } from "@preact/signals";
import type { ShownExecution, ShownQuestion, ValuePath } from "../../api.ts";

/** What is asked of the person in front of the page; one at a time. */
export type DialogRequest =
  | { readonly kind: "fork"; readonly thread: string; readonly at?: string | undefined }
  | {
      readonly kind: "edit";
      readonly thread: string;
      readonly at?: string | undefined;
      readonly path: ValuePath;
      readonly what: string;
      readonly isText: boolean;
    }
  | { readonly kind: "answer"; readonly thread: string; readonly question: ShownQuestion; readonly about?: string }
  | {
      readonly kind: "settle";
      readonly thread: string;
      readonly execution: Pick<ShownExecution, "toolCallId" | "toolName" | "idempotencyKey">;
    }
  | { readonly kind: "delete"; readonly thread: string }
  | { readonly kind: "lease"; readonly thread: string; readonly owner: string; readonly token: string }
  | { readonly kind: "keys" };

export const dialog = signal<DialogRequest | undefined>(undefined);
/** Counts writes of this page: what is shown is asked for anew after each. */
export const writes = signal(0);

export function openDialog(request: DialogRequest): void {
  dialog.value = request;
}

export function closeDialog(): void {
  dialog.value = undefined;
}

export function wrote(): void {
  writes.value++;
  closeDialog();
}
