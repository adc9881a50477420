/** Browser tests quote texts of the console. A quoted text that no longer exists fails here, without a browser. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { en } from "../../packages/console/src/messages/en/en.ts";
import { root } from "./run-tool.ts";

const shortest = 3;
const quotation =
  /(?:getBy\w+|hasText|name|heading|button|inDialog|region)(?:\(|: ?)(?:visit, )?\s*"((?:[^"\\]|\\.)*)"/g;
const locator = /(?:getBy\w+|hasText|heading|button|inDialog|region)[(:][^)]*/g;

/** Texts that the console composes from several messages, or from the API's parts. */
const composed = new Set([
  "Engineers never reach Source code",
  "Monday to Friday, 07:00–20:00 (Europe/Berlin)",
  "TCP 8443, UDP 5000-5100",
  "The request of the program is not valid: redirect_uri.",
  "The source country is DE, FR, IE or NL",
  "agent-01@example.com: is already a user",
]);

/** Each message is a list of its texts between placeholders. */
const messages: readonly (readonly string[])[] = textsIn(en).map((message) =>
  message.replaceAll(/<[^>]*>/g, "").split(/\{\{[^}]*\}\}/),
);

function textsIn(node: object): string[] {
  return Object.values(node).flatMap((value) => (typeof value === "string" ? [value] : textsIn(value)));
}

function sources(...folders: string[]): Map<string, string> {
  const files = execFileSync("git", ["ls-files", ...folders], { cwd: root, encoding: "utf8" }).split("\n");
  return new Map(
    files
      .filter((file) => /\.(tsx?|md|json)$/.test(file) && !file.includes("messages/en/"))
      .map((file) => [file, readFileSync(path.join(root, file), "utf8")]),
  );
}

/** Whether a quotation is a part of a message whose placeholders are replaced by anything. */
function isPartOf(message: readonly string[], quotation: string): boolean {
  return message.some((first, index) => {
    if (first.includes(quotation)) return true;
    return message.some((last, end) => {
      if (end <= index) return false;
      const head = longest(
        first,
        (from) => first.slice(from),
        (text) => quotation.startsWith(text),
      );
      const tail = longest(
        last,
        (from) => last.slice(0, last.length - from),
        (text) => quotation.endsWith(text),
      );
      const between = message.slice(index + 1, end);
      if (head.length + tail.length + between.join("").length < quotation.length / 5) return false;
      let at = head.length;
      for (const text of between) {
        const found = quotation.indexOf(text, at);
        if (found < 0) return false;
        at = found + text.length;
      }
      return at + tail.length <= quotation.length;
    });
  });
}

function longest(text: string, cut: (characters: number) => string, fits: (cut: string) => boolean): string {
  for (let characters = 0; characters < text.length; characters += 1) {
    if (fits(cut(characters))) return cut(characters);
  }
  return "";
}

/** @returns the quotations of at least three words that neither a message, nor a source, nor the tests' data contain */
function unknownTexts(tests: ReadonlyMap<string, string>): string[] {
  const product = [...sources("packages", "docs").values()].join("\n");
  // Names of records are in what the tests create, which is not part of a locator.
  const data = [...sources("test", "bench", "packages/server/src/testing")]
    .filter(([file]) => !import.meta.filename.endsWith(file))
    .map(([, text]) => text.replaceAll(locator, ""))
    .join("\n");
  const isKnown = (text: string) =>
    messages.some((message) => isPartOf(message, text)) || product.includes(text) || data.includes(text);
  return [...tests].flatMap(([file, text]) =>
    [...text.matchAll(quotation)]
      .map((match) => match[1] as string)
      .filter((quoted) => quoted.split(" ").length >= shortest && !composed.has(quoted) && !isKnown(quoted))
      .map((quoted) => `${file}: ${quoted}`),
  );
}

test("browser tests quote texts that exist", () => {
  expect(unknownTexts(sources("test/console"))).toEqual([]);
});

test("a text that was changed is reported", () => {
  const quoted = "1 device will lose access, until its user signs in again on it.";
  const story = `await page.getByText("${quoted}").waitFor();`;
  expect(unknownTexts(new Map([["stories.ts", story]]))).toEqual([`stories.ts: ${quoted}`]);
});
