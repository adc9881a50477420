/** The text of recovery codes: 160 random bits, which cannot be guessed. */
import { canonicalTypedCode, generateTypedCode } from "../../platform/secrets/typed-codes.ts";

const codeCharacters = 32;

export function generateRecoveryCode(): string {
  return generateTypedCode(codeCharacters);
}

/** @returns the code as it was generated; undefined if the text cannot be a recovery code */
export function canonicalRecoveryCode(typed: string): string | undefined {
  return canonicalTypedCode(typed, codeCharacters);
}
