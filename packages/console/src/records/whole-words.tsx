/** Text that does not break inside names unless they are longer than the line. */
import { Fragment } from "react";
import { listParts } from "../messages/format.ts";

/** Text whose words, such as "agent-01@example.com", do not break at hyphens. */
export function WholeWords({ text }: { readonly text: string }) {
  return text.split(" ").map((word, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: words repeat, and have no identity
    <Fragment key={index}>
      {index > 0 && " "}
      {word.includes("-") ? <span className="record-name whole-word">{word}</span> : word}
    </Fragment>
  ));
}

/** The last word of a separator such as " and ". */
const word = /\p{L}+ $/u;

/** A list such as "a, b and c", whose names stay whole. */
export function WholeNames({ names }: { readonly names: readonly string[] }) {
  const parts = listParts(names);
  return parts.map(({ type, value }, index) => {
    // A comma stays at the name before it, and an "and" at the name after it.
    if (type === "literal") return value.replace(/^,/, "").replace(word, "");
    const before = word.exec(parts[index - 1]?.value ?? "")?.[0] ?? "";
    const next = parts[index + 1]?.value ?? "";
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: names repeat, and have no identity
      <span key={index} className="record-name">
        {before}
        {value}
        {next.startsWith(",") && ","}
      </span>
    );
  });
}

/**
 * Names and clauses, separated by commas or arrows, each of which stays whole. An arrow stays at the phrase after it.
 */
export function WholePhrases({ text }: { readonly text: string }) {
  return text.split(/(?<=,) | (?=→)/).map((phrase, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: phrases repeat, and have no identity
    <Fragment key={index}>
      {index > 0 && " "}
      <span className="record-name">{phrase}</span>
    </Fragment>
  ));
}

const operator = /(?<=&&|\|\|)( +)(?=\S)/;

/** The text of a rule. Its lines break after a logical operator, and within a condition only if it is too long. */
export function WholeConditions({ text }: { readonly text: string }) {
  return text.split(/(\n)/).flatMap((line, number) =>
    line.split(operator).map((part, index) =>
      part.trim() === "" ? (
        part
      ) : (
        // biome-ignore lint/suspicious/noArrayIndexKey: conditions repeat, and have no identity
        <span key={`${number} ${index}`} className="whole-condition">
          {part}
        </span>
      ),
    ),
  );
}
