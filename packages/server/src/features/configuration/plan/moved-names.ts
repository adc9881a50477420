/**
 * The smallest set of names to move in order to reach another order. Moving one policy to the top counts as one move.
 *
 * @param before each name once
 * @param after the same names
 */
export function movedNames(before: readonly string[], after: readonly string[]): ReadonlySet<string> {
  const places = new Map(before.map((name, place) => [name, place]));
  const sequence = after.map((name) => places.get(name) ?? -1);
  const staying = longestRising(sequence);
  return new Set(after.filter((_name, index) => !staying.has(index)));
}

/** The indices of one longest increasing subsequence. Its elements keep their relative order. */
function longestRising(sequence: readonly number[]): ReadonlySet<number> {
  // tails[n] is the index of the smallest number that ends an increasing subsequence of length n + 1.
  const tails: number[] = [];
  const previous: (number | undefined)[] = [];
  for (const [index, value] of sequence.entries()) {
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sequence[tails[middle] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    previous[index] = low === 0 ? undefined : tails[low - 1];
    tails[low] = index;
  }
  const chosen = new Set<number>();
  for (let index = tails.at(-1); index !== undefined; index = previous[index]) chosen.add(index);
  return chosen;
}
