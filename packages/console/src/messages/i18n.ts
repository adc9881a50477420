/**
 * The message catalogue of the console: every text that a person reads, under a typed key.
 *
 * There is one locale, fixed when the page loads. `t` may therefore be called at module level, for example in the
 * definition of a list.
 */
import { en } from "./en/en.ts";
import { locale } from "./locale.ts";

/** A message with plural forms has one key, without the suffixes of its forms. */
type KeysOf<Messages, Path extends string = ""> = {
  [Key in keyof Messages & string]: Messages[Key] extends string
    ? `${Path}${Key extends `${infer Name}_${"one" | "other"}` ? Name : Key}`
    : KeysOf<Messages[Key], `${Path}${Key}.`>;
}[keyof Messages & string];

type MessageAt<Messages, Key extends string> = Key extends `${infer Part}.${infer Rest}`
  ? Part extends keyof Messages
    ? MessageAt<Messages[Part], Rest>
    : never
  : Messages[Extract<keyof Messages, Key | `${Key}_${"one" | "other"}`>];

type PlaceholdersIn<Message> = Message extends `${string}{{${infer Placeholder}}}${infer Rest}`
  ? (Placeholder extends `${infer Name}, ${string}` ? Name : Placeholder) | PlaceholdersIn<Rest>
  : never;

/** Every key of the catalogue. */
export type MessageKey = KeysOf<typeof en>;

type Value = string | number;
export type Values = Readonly<Record<string, Value>>;

/** A value for each placeholder of the message. */
type ValuesOf<Key extends MessageKey> = [PlaceholdersIn<MessageAt<typeof en, Key>>] extends [never]
  ? readonly [values?: Values]
  : readonly [values: Values & Readonly<Record<PlaceholdersIn<MessageAt<typeof en, Key>>, Value>>];

/** Right-to-left scripts, and the control characters that change the direction of text. */
const changesDirection = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Isolates a value that would change the direction of the text around it, such as the name of a record. */
function isolateDirection(value: string): string {
  return changesDirection.test(value) ? `\u2068${value}\u2069` : value;
}

const numbers = new Intl.NumberFormat(locale);
const plurals = new Intl.PluralRules(locale);

/** Replaces `{{name}}`, and `{{name, number}}` by a number with grouped digits. */
export function fillIn(message: string, values: Values): string {
  return message.replaceAll(/\{\{(\w+)(, number)?\}\}/g, (_, name: string, isNumber?: string) => {
    const value = values[name] ?? "";
    return isNumber === undefined ? isolateDirection(String(value)) : numbers.format(Number(value));
  });
}

/** Returns the message with its placeholders; undefined if the catalogue has none for the key. */
export function findMessage(key: string, count?: Value): string | undefined {
  const path = key.split(".");
  const last = path.pop() ?? "";
  let messages: unknown = en;
  for (const part of path) messages = (messages as Readonly<Record<string, unknown>> | undefined)?.[part];
  const found = messages as Readonly<Record<string, unknown>> | undefined;
  const message = count === undefined ? undefined : found?.[`${last}_${plurals.select(Number(count))}`];
  const text = message ?? found?.[last];
  return typeof text === "string" ? text : undefined;
}

/** The text under a key. `count` selects the plural form. */
export function t<Key extends MessageKey>(key: Key, ...[values = {}]: ValuesOf<Key>): string {
  return fillIn(findMessage(key, values.count) ?? key, values);
}
