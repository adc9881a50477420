/** A message with identifiers, which are set as code. */
import { Code } from "@mantine/core";
import type { ReactElement } from "react";
import type { MessageKey, Values } from "./i18n.ts";
import { RichText } from "./rich-text.tsx";

/** Renders messages such as `Admission rules read them as <code>device.tags</code>.` */
export function textWithCode(message: MessageKey, values: Values = {}): ReactElement {
  return <RichText message={message} values={values} elements={{ code: <Code /> }} />;
}
