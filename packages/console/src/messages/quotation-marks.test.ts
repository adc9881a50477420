import { expect, test } from "vitest";
import { curlQuotes } from "./quotation-marks.ts";

test.each([
  ["Reads the network's configuration.", "Reads the network’s configuration."],
  ['"Save", or "Cancel": users\' devices', "“Save”, or “Cancel”: users’ devices"],
  ['Open the page ("My access").', "Open the page (“My access”)."],
  ["say 'no'", "say ‘no’"],
])("%s", (straight, curled) => {
  expect(curlQuotes(straight)).toBe(curled);
});

test("a mark directly after another text closes", () => {
  expect(curlQuotes("'s", true)).toBe("’s");
  expect(curlQuotes('", and "', true)).toBe("”, and “");
});
