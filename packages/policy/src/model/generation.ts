let last = 0;

/**
 * A number for something immutable that nothing else has. Whoever derives something from it remembers the number to know whether that
 * still holds; remembering the thing itself would keep every former state of a tenant alive.
 */
export function nextGeneration(): number {
  last += 1;
  return last;
}
