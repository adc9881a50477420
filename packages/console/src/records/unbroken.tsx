/** Names and addresses, which browsers would break at their hyphens although there is room on the next line. */
import { Fragment } from "react";

/** Longer words may break, so that they fit on a narrow screen. */
const longestWord = 32;

/** A text whose words stay whole: it breaks only at its spaces. */
export function Unbroken({ children: text }: { readonly children: string }) {
  if (!text.includes("-")) return text;
  return text.split(" ").map((word, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: words have no identity
    <Fragment key={index}>
      {index > 0 && " "}
      {word.includes("-") && word.length <= longestWord ? <span className="one-line">{word}</span> : word}
    </Fragment>
  ));
}
