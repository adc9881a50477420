const LONGEST_SHOWN = 80;

/** A text as it may stand in a message: in quotes, control characters escaped, the end left out where it is long. */
export function quoteText(text: string): string {
  return JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text);
}
