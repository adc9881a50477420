/**
 * A text that an agent sent, as the database takes it: without NUL, and without halves of characters. One that the database refused would keep all
 * of a tenant's news from being written.
 */
export function storableText(text: string): string {
  return Buffer.from(text).toString().replaceAll("\u0000", "\ufffd");
}
