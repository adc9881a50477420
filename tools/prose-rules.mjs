/** The rules that textlint applies to Markdown and to the console's catalogue. */
import { terminology } from "./terminology.mjs";

/** The most words of a sentence. docs/glossary.md and CONTRIBUTING.md state the limit. */
export const mostWords = 25;
/** The most characters of a line of Markdown, without tables, links and code. */
export const longestLine = 120;

const forbidden = terminology.map(([pattern, replacement]) => {
  const flags = /[A-Z]/.test(pattern) ? "g" : "gi";
  const words = pattern.replaceAll(" ", "\\s+");
  return { expression: new RegExp(`(?<![\\w.@/-])(?:${words})(?![\\w@/]|[.-]\\w)`, flags), replacement };
});

/** Reports words that have a standard term. Code is not text. */
export function useTerminology({ Syntax, RuleError, report, getSource, locator }) {
  return {
    [Syntax.Str](node) {
      const text = getSource(node);
      for (const { expression, replacement } of forbidden) {
        for (const match of text.matchAll(expression)) {
          const padding = locator.range([match.index, match.index + match[0].length]);
          report(node, new RuleError(`"${match[0].replaceAll(/\s+/g, " ")}": write ${replacement}.`, { padding }));
        }
      }
    },
  };
}

/** Reports sentences that are too long to be read once. */
export function limitSentences({ Syntax, RuleError, report, getSource, locator }) {
  return {
    [Syntax.Paragraph](node) {
      for (const { text, index } of sentencesOf(getSource(node))) {
        const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
        if (words <= mostWords) continue;
        const message = `A sentence of ${words} words: split it, the limit is ${mostWords}.`;
        report(node, new RuleError(message, { padding: locator.at(index) }));
      }
    },
  };
}

/** Reports lines that an editor or a difference must wrap. */
export function limitLines({ Syntax, RuleError, report, getSource, locator }) {
  return {
    [Syntax.Paragraph](node) {
      let index = 0;
      for (const line of getSource(node).split("\n")) {
        const start = index;
        index += line.length + 1;
        if (line.length <= longestLine || /https?:|\]\(/.test(line)) continue;
        const message = `A line of ${line.length} characters: wrap it, the limit is ${longestLine}.`;
        report(node, new RuleError(message, { padding: locator.at(start) }));
      }
    },
  };
}

/** Sentences of a paragraph, with their index in it. A link counts as its text, and a piece of code as one word. */
function sentencesOf(source) {
  const blank = (match) => " ".repeat(match.length);
  const text = source
    .replaceAll(/`[^`]*`/g, (match) => "x".repeat(match.length))
    .replaceAll(/\]\([^)]*\)/g, blank)
    .replaceAll(/<[^>]*>/g, blank)
    .replaceAll(/\b(?:e\.g|i\.e|etc|vs|approx)\./g, (match) => match.replaceAll(".", "_"));
  const sentences = [];
  let index = 0;
  for (const part of text.split(/(?<=[.!?:;]["”)*]*)\s+|\n\s*\n/)) {
    const at = text.indexOf(part, index);
    sentences.push({ text: part, index: at });
    index = at + part.length;
  }
  return sentences;
}
