/** A message with elements inside it, such as a link or a value in bold. */
import type { ReactElement } from "react";
import { Trans } from "react-i18next/TransWithoutContext";
import { i18n, type MessageKey, t } from "./i18n.ts";

interface RichTextProps {
  readonly message: MessageKey;
  /** What the placeholders of the message stand for. */
  readonly values?: Readonly<Record<string, string | number>>;
  /** The element for each tag of the message: `{ link: <RecordLink … /> }` renders `<link>…</link>`. */
  readonly elements: Readonly<Record<string, ReactElement>>;
}

/** Values are inserted as text: a record named `<link>` renders as these characters. */
export function RichText({ message, values = {}, elements }: RichTextProps) {
  return <Trans i18n={i18n} t={t} i18nKey={message} values={values} components={elements} />;
}
