/**
 * The short codes of enrolment links: 60 random bits. The first half finds the link, so that wrong guesses of the
 * second half can be counted for it.
 */
import { canonicalTypedCode, generateTypedCode } from "../../platform/secrets/typed-codes.ts";

const codeCharacters = 12;
/** With the hyphen between the groups, and without the one after it. */
const locatorCharacters = 7;

export interface EnrolmentCode {
  readonly text: string;
  readonly locator: string;
  readonly secret: string;
}

export function generateEnrolmentCode(): EnrolmentCode {
  return partsOf(generateTypedCode(codeCharacters));
}

/** @returns undefined if the text cannot be a code */
export function parseEnrolmentCode(typed: string): EnrolmentCode | undefined {
  const text = canonicalTypedCode(typed, codeCharacters);
  return text === undefined ? undefined : partsOf(text);
}

function partsOf(text: string): EnrolmentCode {
  return { text, locator: text.slice(0, locatorCharacters), secret: text.slice(locatorCharacters) };
}
