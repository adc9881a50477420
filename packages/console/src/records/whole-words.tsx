/** Text that does not break inside names unless they are longer than the line. */
import { Fragment } from "react";

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

/** Names and clauses, separated by commas or arrows, each of which stays whole. */
export function WholePhrases({ text }: { readonly text: string }) {
  return text.split(/(?<=[,→]) /).map((phrase, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: phrases repeat, and have no identity
    <Fragment key={index}>
      {index > 0 && " "}
      <span className="record-name">{phrase}</span>
    </Fragment>
  ));
}
