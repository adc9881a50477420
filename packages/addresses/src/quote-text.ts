const LONGEST_SHOWN = 80;

/** Quotes a text for a message. Escapes control characters, and truncates long texts. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text);
}
