/**
 * Replaces the characters that PostgreSQL does not store: NUL and lone surrogates. Otherwise one such text from an
 * agent would fail the whole batch of its tenant.
 */
export function storableText(text: string): string {
  return Buffer.from(text).toString().replaceAll("\u0000", "\ufffd");
}
