import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { generateToken, hashToken, isWholeToken, tokenPrefixes, visiblePrefix } from "./tokens.ts";

const anyPrefix = fc.constantFrom(...Object.values(tokenPrefixes));

describe("tokens", () => {
  test("have the format for secret scanners, and are complete", () => {
    fc.assert(
      fc.property(anyPrefix, (prefix) => {
        const token = generateToken(prefix);
        expect(token).toMatch(
          /^gatehouse_(key|gw|device|op|session|enrol|enrolkey|access|refresh|code)_[0-9A-Za-z]{49}$/,
        );
        expect(isWholeToken(token, prefix)).toBe(true);
      }),
    );
  });

  test("never repeat any part", () => {
    const tokens = Array.from({ length: 1000 }, () => generateToken(tokenPrefixes.apiKey));
    expect(new Set(tokens.map((token) => token.slice(14, 30))).size).toBe(tokens.length);
  });

  test("are incomplete with one character changed, missing or added", () => {
    const other = fc.constantFrom(..."0aZ!é");
    fc.assert(
      fc.property(anyPrefix, fc.nat(), other, fc.constantFrom(0, 1), (prefix, place, character, kept) => {
        const token = generateToken(prefix);
        const at = prefix.length + (place % (token.length - prefix.length));
        const mistyped = token.slice(0, at) + character + token.slice(at + 1 - kept);
        expect(isWholeToken(mistyped, prefix)).toBe(mistyped === token);
        expect(isWholeToken(token.slice(0, at), prefix)).toBe(false);
      }),
    );
  });

  test("are incomplete under another prefix", () => {
    expect(isWholeToken(generateToken(tokenPrefixes.gateway), tokenPrefixes.apiKey)).toBe(false);
  });
});

test("the hash of a token is its SHA-256", () => {
  expect(hashToken("abc").toString("hex")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("at most four characters of the secret are shown", () => {
  const token = generateToken(tokenPrefixes.operator);
  expect(visiblePrefix(token)).toBe(`${token.slice(0, "gatehouse_op_".length + 4)}…`);
  expect(visiblePrefix("a custom value")).toBe("a cu…");
});
