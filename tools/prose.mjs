/**
 * Lints text with textlint: Markdown as it is, and the texts of the console's catalogue as paragraphs of their line.
 */
import { TextlintKernel } from "@textlint/kernel";
import markdown from "@textlint/textlint-plugin-markdown";
import { limitLines, limitSentences, useTerminology } from "./prose-rules.mjs";

const kernel = new TextlintKernel();
const plugins = [{ pluginId: "markdown", plugin: markdown.default ?? markdown }];
const rules = [
  { ruleId: "terminology", rule: useTerminology },
  { ruleId: "sentence-length", rule: limitSentences },
  { ruleId: "line-length", rule: limitLines },
];

/**
 * @param {string} name the file's name; `.ts` is a catalogue
 * @param {string} text
 * @returns {Promise<readonly { line: number, rule: string, message: string }[]>}
 */
export async function lintProse(name, text) {
  const isCatalogue = name.endsWith(".ts");
  // The error reference is generated, one text per line.
  const isWrapped = !isCatalogue && !name.endsWith("docs/errors.md");
  const { messages } = await kernel.lintText(isCatalogue ? await textsOf(text) : text, {
    filePath: name,
    ext: ".md",
    plugins,
    rules: isWrapped ? rules : rules.filter(({ ruleId }) => ruleId !== "line-length"),
  });
  const lineOf = (line) => (isCatalogue ? (line + 1) / 2 : line);
  return messages.map(({ line, ruleId, message }) => ({ line: lineOf(line), rule: ruleId, message }));
}

/**
 * The string values of a TypeScript module as Markdown. The text of line `n` is the paragraph in line `2n - 1`, so that
 * neighbouring texts do not form one sentence. Property names are left out.
 */
async function textsOf(source) {
  const { default: ts } = await import("typescript");
  const file = ts.createSourceFile("catalogue.ts", source, ts.ScriptTarget.Latest, true);
  /** @type {string[]} */
  const lines = Array.from({ length: file.getLineStarts().length }, () => "");
  const visit = (node) => {
    if (ts.isPropertyAssignment(node)) return visit(node.initializer);
    if (ts.isImportDeclaration(node)) return;
    if (ts.isStringLiteralLike(node)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      lines[line] = `${lines[line]} ${node.text.replaceAll("\n", " ")}`.trim();
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return lines.join("\n\n");
}
