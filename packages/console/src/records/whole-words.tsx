/** Text whose words, such as "agent-01@example.com", do not break at hyphens unless they are longer than the line. */
import { Fragment } from "react";

export function WholeWords({ text }: { readonly text: string }) {
  return text.split(" ").map((word, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: words repeat, and have no identity
    <Fragment key={index}>
      {index > 0 && " "}
      {word.includes("-") ? <span className="record-name whole-word">{word}</span> : word}
    </Fragment>
  ));
}
