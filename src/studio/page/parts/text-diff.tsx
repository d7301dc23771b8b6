import { textDiff } from "../word-diff.ts";

/** Two texts as one, with what went and what came marked by more than colour. */
export const TextDiff = ({ before, after }: { readonly before: string; readonly after: string }) => {
  const pieces = textDiff(before, after);
  if (pieces === undefined) {
    return (
      <>
        <p class="faint">Too different to align; one below the other.</p>
        <pre class="plain before" tabIndex={0}>
          {before}
        </pre>
        <pre class="plain after" tabIndex={0}>
          {after}
        </pre>
      </>
    );
  }
  return (
    <div class="stored word-diff">
      <p>
        {pieces.map(({ text, side }, index) =>
          side === "both" ? (
            <span key={index}>{text}</span>
          ) : side === "before" ? (
            <del key={index}>{text}</del>
          ) : (
            <ins key={index}>{text}</ins>
          ),
        )}
      </p>
    </div>
  );
};
