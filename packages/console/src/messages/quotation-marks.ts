/** Texts from outside of the catalogue, such as guides, which are written with the straight marks of a keyboard. */

/**
 * Replaces straight quotation marks and apostrophes with typographic ones.
 *
 * @param isContinued whether other text stands directly before this one
 */
export function curlQuotes(text: string, isContinued = false): string {
  return text.replaceAll(/["']/g, (mark, at: number) => {
    const before = at === 0 ? (isContinued ? "x" : " ") : text.charAt(at - 1);
    const opens = /[\s([{/–—]/.test(before);
    if (mark === '"') return opens ? "“" : "”";
    return opens ? "‘" : "’";
  });
}
