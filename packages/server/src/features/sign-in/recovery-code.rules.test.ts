import { expect, test } from "vitest";
import { canonicalRecoveryCode, generateRecoveryCode } from "./recovery-code.rules.ts";

test("a generated code reads as itself, however it is typed", () => {
  const code = generateRecoveryCode();
  expect(code).toMatch(/^([0-9A-Z]{4}-){7}[0-9A-Z]{4}$/);
  for (const typed of [code, code.toLowerCase(), code.replaceAll("-", " "), ` ${code.replaceAll("-", "")}\n`]) {
    expect(canonicalRecoveryCode(typed)).toBe(code);
  }
});

test("letters that look like digits count as digits", () => {
  expect(canonicalRecoveryCode("oOiL-".padEnd(33, "A"))).toBe("0011-AAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAA");
});

test.each(["", "short", "A".repeat(31), "A".repeat(33), "U".repeat(32), "ä".repeat(32)])("%o is not a code", (text) => {
  expect(canonicalRecoveryCode(text)).toBeUndefined();
});

test("codes differ", () => {
  expect(new Set(Array.from({ length: 100 }, generateRecoveryCode)).size).toBe(100);
});
