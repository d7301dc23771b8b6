/** A text for whatever was thrown, including values that cannot be converted to text. */
export function reasonOf(error: unknown): string {
  try {
    if (error instanceof Error) return String(error.message || error.name);
    return typeof error === "object" && error !== null ? JSON.stringify(error) : String(error);
  } catch {
    return "something that cannot be put into words";
  }
}
