import { expect, test } from "vitest";
import { storableText } from "./storable-text.ts";

test.each([
  ["plain", "plain"],
  ["über ☃ 🙂\n", "über ☃ 🙂\n"],
  ["a\u0000b", "a\ufffdb"],
  ["half \ud83d", "half \ufffd"],
  ["\ude42 half", "\ufffd half"],
])("%j is stored as %j", (text, stored) => {
  expect(storableText(text)).toBe(stored);
});
