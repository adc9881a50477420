/** A message with elements inside it, such as a link or a value in bold. */
import type { ComponentType, ReactElement } from "react";
import { Trans } from "react-i18next/TransWithoutContext";
import { i18n, type MessageKey, t } from "./i18n.ts";

interface RichTextProps {
  readonly message: MessageKey;
  /** What the placeholders of the message stand for. */
  readonly values?: Readonly<Record<string, string | number>>;
  /** The element for each tag of the message: `{ link: <RecordLink … /> }` renders `<link>…</link>`. */
  readonly elements: Readonly<Record<string, ReactElement>>;
}

/** `Trans` types its key as a union that grows with the catalogue, and becomes too complex for TypeScript. */
const Translated = Trans as ComponentType<object>;

/** Values are inserted as text: a record named `<link>` renders as these characters. */
export function RichText({ message, values = {}, elements }: RichTextProps) {
  const props = { i18n, t, i18nKey: message, values, components: elements };
  return <Translated {...props} />;
}
