import { expect, test } from "vitest";
import { problemOfNewName } from "./readable-names.ts";

/** The code points of a range, both ends included. */
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

const never = [
  ...[0xad, 0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x2800, 0x3164, 0xfeff, 0xffa0],
  ...range(0x2060, 0x2065),
  ...range(0x206a, 0x206f),
  ...range(0xfff0, 0xfffb),
  ...range(0x1bca0, 0x1bca3),
  ...range(0x1d173, 0x1d17a),
  ...[0x13441, 0x13442, 0x1d159],
  ...range(0xe0000, 0xe00ff),
  ...range(0xe01f0, 0xe0fff),
];

test.each([
  ["Latin letters", "Ad", "mins"],
  ["Arabic letters", "\u0646\u06cc", "\u062e"],
  ["Hangul syllables", "\uad00", "\ub9ac"],
  ["emoji", "\u{1f469}", "\u{1f4bb}"],
  ["Braille", "\u2813", "\u2811"],
])("characters that are never visible are refused between %s, and at both ends", (_what, before, after) => {
  for (const code of never) {
    const hidden = String.fromCodePoint(code);
    for (const name of [before + hidden + after, hidden + before + after, before + after + hidden]) {
      expect(problemOfNewName(name), `U+${code.toString(16)}`).toBeDefined();
    }
  }
});

const sometimes = [
  ...[0x200c, 0x200d, 0x180b, 0x180c, 0x180d, 0x180f],
  ...range(0xfe00, 0xfe0f),
  ...range(0xe0100, 0xe01ef),
];

test("joiners and variation selectors are refused where they change nothing", () => {
  for (const code of sometimes) {
    const hidden = String.fromCodePoint(code);
    for (const name of [`Ad${hidden}mins`, `${hidden}Admins`, `Admins${hidden}`, `A ${hidden} B`, `1${hidden}2`]) {
      expect(problemOfNewName(name), `U+${code.toString(16)}`).toContain(`U+${code.toString(16).toUpperCase()}`);
    }
  }
});

test.each([
  ["a joiner at the beginning of an Arabic name", "\u200c\u0646\u06cc"],
  ["a joiner at the end of an Arabic name", "\u0646\u06cc\u200c"],
  ["two joiners", "\u0646\u06cc\u200c\u200c\u062e"],
  ["a joiner between an Arabic and a Latin letter", "\u0646\u200cA"],
  ["a joiner after an accent on a Latin letter", "e\u0301\u200c\u0646"],
  ["a joiner after an emoji", "Team \u{1f469}\u200d"],
  ["a joiner between an emoji and a letter", "\u{1f469}\u200dA"],
  ["two selectors", "\u2764\ufe0f\ufe0f"],
  ["a selector after a digit without a keycap", "1\ufe0f"],
  ["tags that are not terminated", "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}"],
  ["tags after another emoji", "\u{1f469}\u{e0067}\u{e0062}\u{e0065}\u{e007f}"],
])("%s is refused", (_what, name) => {
  expect(problemOfNewName(name)).toMatch(/^must not contain the invisible character U\+[0-9A-F]+ there$/);
});

test.each([
  ["a Persian name", "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
  ["a Persian name with vowel marks", "\u0646\u064e\u200c\u062e"],
  ["a Sinhala name", "\u0dc1\u0dca\u200d\u0dbb\u0dd3"],
  ["a Malayalam name that ends in a joiner", "\u0d30\u0d3e\u0d1c\u0d28\u0d4d\u200d"],
  ["a Malayalam name before a word", "\u0d30\u0d3e\u0d1c\u0d28\u0d4d\u200d Laptop"],
  ["a Bengali name that ends in a joiner", "\u09b6\u09b0\u09a4\u09cd\u200d"],
  ["a Persian initial", "\u0647\u200d. \u0627. \u0633\u0627\u06cc\u0647"],
  ["a Hindi name", "\u0915\u094d\u200d\u0937"],
  ["a Bengali name", "\u09b0\u200d\u09cd\u09af"],
  ["a Japanese name with a variant", "\u845b\u{e0100}\u57ce"],
  ["a Japanese name that ends with a variant", "\u8fbb\u{e0101}"],
  ["a Mongolian name", "\u182d\u180b\u1820"],
  ["a person with an occupation", "Team \u{1f469}\u{1f3fd}\u200d\u{1f4bb}"],
  ["a family", "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"],
  ["a heart on fire", "\u2764\ufe0f\u200d\u{1f525}"],
  ["a rainbow flag", "\u{1f3f3}\ufe0f\u200d\u{1f308}"],
  ["a symbol in the style of text", "\u2600\ufe0e North"],
  ["a keycap", "1\ufe0f\u20e3 First"],
  ["the flag of England", "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}"],
  ["a Korean name", "\uad00\ub9ac\uc790"],
  ["a Hebrew name", "\u05de\u05e0\u05d4\u05dc\u05d9\u05dd"],
  ["Braille", "\u2813\u2811"],
  ["spaces and accents", "Zo\u0065\u0308 \u00c9milie \u2013 2nd floor"],
])("%s is accepted", (_what, name) => {
  expect(problemOfNewName(name)).toBeUndefined();
});

test("the message names the character", () => {
  expect(problemOfNewName("Ad\u3164mins")).toBe("must not contain the invisible character U+3164 there");
  expect(problemOfNewName("\u3164")).toBe("must contain a visible character");
});
