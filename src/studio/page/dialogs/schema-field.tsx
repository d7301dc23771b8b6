import { useState } from "preact/hooks";

type Schema = Readonly<Record<string, unknown>> | undefined;

const propertiesOf = (
  schema: Schema,
): readonly (readonly [name: string, schema: Readonly<Record<string, unknown>>])[] =>
  Object.entries((schema?.["properties"] ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>>>>);

const choicesOf = (schema: Schema): readonly unknown[] | undefined => {
  const choices = schema?.["enum"];
  return Array.isArray(choices) && choices.length > 0 ? choices : undefined;
};

const isForm = (schema: Schema): boolean => schema?.["type"] === "object" && propertiesOf(schema).length > 0;

/** What a form begins with. */
export function emptyValue(schema: Schema): unknown {
  const choices = choicesOf(schema);
  if (choices !== undefined) return choices[0];
  if (isForm(schema)) return Object.fromEntries(propertiesOf(schema).map(([name, each]) => [name, emptyValue(each)]));
  if (schema?.["type"] === "boolean") return false;
  return schema?.["type"] === "number" || schema?.["type"] === "integer" ? undefined : "";
}

/** Whether there is anything to send; the server compares it with the schema. */
export function isComplete(schema: Schema, value: unknown): boolean {
  if (isForm(schema)) return true;
  return value !== undefined && value !== "";
}

interface Props {
  readonly schema: Schema;
  readonly name: string;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
  readonly isFirst?: boolean;
}

/** A field for what a JSON Schema of the simple kinds asks for; JSON for every other. */
export const SchemaField = ({ schema, name, value, change, isFirst = false }: Props) => {
  const label = typeof schema?.["title"] === "string" ? schema["title"] : name;
  const help = typeof schema?.["description"] === "string" ? <span class="faint">{schema["description"]}</span> : null;
  const choices = choicesOf(schema);
  if (choices !== undefined) {
    return (
      <label>
        {label} {help}
        <select
          value={choices.indexOf(value)}
          onChange={(event) => change(choices[Number(event.currentTarget.value)])}
          autofocus={isFirst}
        >
          {choices.map((choice, index) => (
            <option key={index} value={index}>
              {String(choice)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  if (isForm(schema)) {
    const record = value as Readonly<Record<string, unknown>>;
    return (
      <fieldset>
        <legend>{label}</legend>
        {help}
        {propertiesOf(schema).map(([key, each], index) => (
          <SchemaField
            key={key}
            schema={each}
            name={key}
            value={record[key]}
            change={(next) => change({ ...record, [key]: next })}
            isFirst={isFirst && index === 0}
          />
        ))}
      </fieldset>
    );
  }
  switch (schema?.["type"]) {
    case "boolean":
      return (
        <label class="choice">
          <input
            type="checkbox"
            checked={value === true}
            onChange={(event) => change(event.currentTarget.checked)}
            autofocus={isFirst}
          />{" "}
          {label} {help}
        </label>
      );
    case "number":
    case "integer":
      return (
        <label>
          {label} {help}
          <input
            type="number"
            step={schema["type"] === "integer" ? 1 : "any"}
            value={value === undefined ? "" : String(value)}
            onInput={(event) =>
              change(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))
            }
            autofocus={isFirst}
          />
        </label>
      );
    case "string":
    case undefined:
      return (
        <label>
          {label} {help}
          <textarea
            rows={3}
            value={typeof value === "string" ? value : ""}
            onInput={(event) => change(event.currentTarget.value)}
            autofocus={isFirst}
          />
        </label>
      );
    default:
      return <JsonField label={label} change={change} isFirst={isFirst} />;
  }
};

const JsonField = ({
  label,
  change,
  isFirst,
}: {
  readonly label: string;
  readonly change: (value: unknown) => void;
  readonly isFirst: boolean;
}) => {
  const [text, setText] = useState("");
  const update = (next: string): void => {
    setText(next);
    try {
      change(JSON.parse(next));
    } catch {
      change(undefined);
    }
  };
  return (
    <label>
      {label}, as JSON
      <textarea
        rows={6}
        value={text}
        onInput={(event) => update(event.currentTarget.value)}
        spellcheck={false}
        autofocus={isFirst}
      />
    </label>
  );
};
