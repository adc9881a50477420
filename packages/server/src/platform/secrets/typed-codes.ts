/** Codes that people copy by hand: random bits in Crockford's base 32, in groups of four characters. */
import { randomBytes } from "node:crypto";

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const bitsPerCharacter = 5;
const groupCharacters = 4;

/** @param characters the number of random characters, without hyphens */
export function generateTypedCode(characters: number): string {
  const bytes = Math.ceil((characters * bitsPerCharacter) / 8);
  const bits = BigInt(`0x${randomBytes(bytes).toString("hex")}`);
  let text = "";
  for (let rest = bits; text.length < characters; rest /= 32n) text = alphabet[Number(rest % 32n)] + text;
  return inGroups(text);
}

/**
 * The code as it was generated, from what a person typed. Letter case, spaces and hyphens do not matter, and letters
 * that look like digits count as digits.
 *
 * @param characters the number of characters of such codes, without hyphens
 * @returns undefined if the text cannot be such a code
 */
export function canonicalTypedCode(typed: string, characters: number): string | undefined {
  const text = typed.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll("O", "0").replaceAll(/[IL]/g, "1");
  if (text.length !== characters || [...text].some((character) => !alphabet.includes(character))) return undefined;
  return inGroups(text);
}

function inGroups(text: string): string {
  return (text.match(new RegExp(`.{${groupCharacters}}`, "g")) ?? []).join("-");
}
