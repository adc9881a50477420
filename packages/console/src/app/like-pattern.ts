/** Returns a pattern for the API's `ilike` filter that matches texts containing `text`. */
export function containsPattern(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
}
