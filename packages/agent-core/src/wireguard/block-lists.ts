/** Compares lists of blocks, whatever the spelling of each block. */
import { parseIpBlock } from "@gatehouse/addresses/ip-block";

export function sameBlocks(left: readonly string[], right: readonly string[]): boolean {
  if (sameTexts(left, right)) return true;
  const known = new Set(left.map(normalized));
  const wanted = new Set(right.map(normalized));
  return known.size === wanted.size && [...wanted].every((block) => known.has(block));
}

export function differenceOf(known: readonly string[], wanted: readonly string[]) {
  if (sameTexts(known, wanted)) return { removed: [], missing: [] };
  const isKnown = new Set(known.map(normalized));
  const isWanted = new Set(wanted.map(normalized));
  return {
    removed: known.filter((text) => !isWanted.has(normalized(text))),
    missing: wanted.filter((text) => !isKnown.has(normalized(text))),
  };
}

/** Whether the texts are equal, so that thousands of blocks need not be parsed. */
function sameTexts(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((text, index) => text === right[index]);
}

/** Returns the same text for every spelling of a block. */
function normalized(text: string): string {
  const block = parseIpBlock(text) ?? parseIpBlock(text.split("/")[0] ?? "");
  return block === undefined
    ? text
    : `${block.family}:${block.first}/${text.split("/")[1] ?? (block.family === 4 ? 32 : 128)}`;
}
