const [quote, backslash, comma, openBracket, openBrace] = Buffer.from('"\\,[{');

/**
 * Whether JSON has more separators of values than `most`. Counts without parsing: parsing and copying a MiB of empty
 * objects takes far longer than a MiB of text, and blocks all requests.
 *
 * @param json any text; the result for invalid JSON is unspecified
 */
export function hasMoreValues(json: string, most: number): boolean {
  let values = 0;
  let inString = false;
  for (let index = 0; index < json.length; index += 1) {
    const code = json.charCodeAt(index);
    if (inString) {
      if (code === backslash) index += 1;
      else if (code === quote) inString = false;
    } else if (code === quote) inString = true;
    else if (code === comma || code === openBracket || code === openBrace) {
      values += 1;
      if (values > most) return true;
    }
  }
  return false;
}
