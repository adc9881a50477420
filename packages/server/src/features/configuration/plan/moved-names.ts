/**
 * Which names of a list have to move so that it gets another order: as few as possible, so that one policy that goes to
 * the top is one move, and not one of every other.
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

/** The indices of one longest rising subsequence: those keep their order among themselves. */
function longestRising(sequence: readonly number[]): ReadonlySet<number> {
  // tails[n] is the index of the smallest number that ends a rising subsequence of n + 1.
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
