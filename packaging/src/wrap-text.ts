/** Breaks a text into lines of at most `width` characters, between words. A longer word gets its own line. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/).filter((each) => each !== "")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
