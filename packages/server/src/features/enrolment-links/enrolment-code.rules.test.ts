import { expect, test } from "vitest";
import { generateEnrolmentCode, parseEnrolmentCode } from "./enrolment-code.rules.ts";

test("a code is read back as it was generated, however it is typed", () => {
  for (let count = 0; count < 200; count += 1) {
    const code = generateEnrolmentCode();
    expect(code.text).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){2}$/);
    expect(code.locator + code.secret).toBe(code.text);
    for (const typed of [code.text, code.text.toLowerCase(), code.text.replaceAll("-", " "), ` ${code.text}`]) {
      expect(parseEnrolmentCode(typed)).toEqual(code);
    }
  }
});

test("both halves have 30 random bits", () => {
  const codes = Array.from({ length: 2_000 }, generateEnrolmentCode);
  // Among 2,000 values of 30 bits, two pairs of equals are already rarer than one in 100,000.
  expect(new Set(codes.map(({ locator }) => locator)).size).toBeGreaterThan(1_997);
  expect(new Set(codes.map(({ secret }) => secret)).size).toBeGreaterThan(1_997);
  for (const part of ["locator", "secret"] as const) {
    expect(codes[0]?.[part].replaceAll("-", "")).toHaveLength(6);
  }
});

test.each(["", "AAAA-BBBB", "AAAA-BBBB-CCCC-DDDD", "AAAA-BBBB-CCC!", "ÄAAA-BBBB-CCCC", "U".repeat(12)])(
  "%j is not a code",
  (text) => expect(parseEnrolmentCode(text)).toBeUndefined(),
);
