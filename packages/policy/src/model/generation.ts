let last = 0;

/**
 * Returns a process-wide unique number for an immutable value. Caches compare the number instead of the value, because
 * a reference to the value would keep every former state of a tenant in memory.
 */
export function nextGeneration(): number {
  last += 1;
  return last;
}

/** Reserves such numbers for several values, and returns the first. */
export function nextGenerations(count: number): number {
  const first = last + 1;
  last += count;
  return first;
}
