/** The rules for comments that a machine can check; docs/architecture.md has all of them. */

export const longestLine = 120;

/** The patterns of the files whose comments are checked, for git. */
export const checkedFiles = ["*.ts", "*.tsx", "*.mjs", "*.cjs", "*.jsonc", "*.css"];

/** Words that begin a fragment. A docstring is a noun phrase, or a sentence in the present tense. */
const openings = "What|Who|Whoever|Of|Those|Where|As|By|In|For|Which";
const opening = new RegExp(`^(?:${openings})\\b`);
const comment = /^\s*(?:\/\*\*?|\*(?!\/)|\/\/)\s?(.*)$/;

/**
 * @param {string} source TypeScript, JavaScript, CSS or JSON with comments
 * @returns {{ line: number, problem: "opening" | "length" }[]} the comments that begin with a fragment, or are too
 *   long for a line; the first line is 1
 */
export function findings(source) {
  const found = [];
  let inside = false;
  for (const [index, text] of source.split("\n").entries()) {
    const content = comment.exec(text)?.[1];
    if (content === undefined) {
      inside = false;
      continue;
    }
    const starts = !inside && content !== "";
    if (starts && opening.test(content)) found.push({ line: index + 1, problem: "opening" });
    if (text.length > longestLine && !/https?:/.test(text)) found.push({ line: index + 1, problem: "length" });
    inside = (inside || content !== "") && !text.trimEnd().endsWith("*/");
  }
  return found;
}
