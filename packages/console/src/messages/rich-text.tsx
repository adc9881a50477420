/** A message with elements inside it, such as a link or a value in bold. */
import { cloneElement, type ReactElement, type ReactNode } from "react";
import { fillIn, findMessage, type MessageKey, type Values } from "./i18n.ts";

interface RichTextProps {
  readonly message: MessageKey;
  /** The values of the placeholders of the message. */
  readonly values?: Values;
  /** The element for each tag of the message: `{ a: <RecordLink … /> }` renders `<a>…</a>`. */
  readonly elements: Readonly<Record<string, ReactElement>>;
}

const tag = /<(\w+)(?:\/>|>(.*?)<\/\1>)/gs;

/** Values are inserted as text: a record named `<b>` renders as these characters. */
export function RichText({ message, values = {}, elements }: RichTextProps) {
  return render(findMessage(message, values.count) ?? message, values, elements);
}

function render(message: string, values: Values, elements: RichTextProps["elements"]): ReactNode {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const { 0: whole, 1: name = "", 2: content, index } of message.matchAll(tag)) {
    parts.push(fillIn(message.slice(end, index), values));
    const element = elements[name];
    if (element !== undefined) {
      const key = { key: index };
      parts.push(
        content === undefined
          ? cloneElement(element, key)
          : cloneElement(element, key, render(content, values, elements)),
      );
    }
    end = index + whole.length;
  }
  parts.push(fillIn(message.slice(end), values));
  const shown = parts.filter((part) => part !== "");
  return shown.length === 1 ? shown[0] : shown;
}
