/** A message with elements inside it, such as a link or a value in bold. */
import type { ComponentType, ReactElement } from "react";
import { Trans } from "react-i18next/TransWithoutContext";
import { i18n, isolateDirection, type MessageKey, t } from "./i18n.ts";

interface RichTextProps {
  readonly message: MessageKey;
  /** The values of the placeholders of the message. */
  readonly values?: Readonly<Record<string, string | number>>;
  /**
   * The element for each tag of the message: `{ a: <RecordLink … /> }` renders `<a>…</a>`. The name of a tag must not
   * be that of a void HTML element, such as `link`.
   */
  readonly elements: Readonly<Record<string, ReactElement>>;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** `Trans` escapes values with this function only if `escapeValue` is off, and then decodes the entities itself. */
const valuesAsText = {
  interpolation: {
    escapeValue: false,
    escape: (value: string) => isolateDirection(value).replace(/[&<>]/g, (character) => entities[character] ?? ""),
  },
};

interface TransProps {
  readonly i18n: typeof i18n;
  readonly t: typeof t;
  readonly i18nKey: string;
  readonly values: Readonly<Record<string, string | number>>;
  readonly components: Readonly<Record<string, ReactElement>>;
  readonly tOptions: typeof valuesAsText;
}

/** `Trans` types its props for one literal key. For any key of the catalogue, the types are too complex to compute. */
const Translation = Trans as unknown as ComponentType<TransProps>;

/** Values are inserted as text: a record named `<b>` renders as these characters. */
export function RichText({ message, values = {}, elements }: RichTextProps) {
  return (
    <Translation i18n={i18n} t={t} i18nKey={message} values={values} components={elements} tOptions={valuesAsText} />
  );
}
