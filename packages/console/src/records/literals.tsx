/** Values that people copy or compare character by character, such as the scopes of an identity provider. */
import { Code } from "@mantine/core";

export function Literals({ texts }: { readonly texts: readonly string[] }) {
  return (
    <span className="values">
      {texts.map((text) => (
        <Code key={text}>{text}</Code>
      ))}
    </span>
  );
}
