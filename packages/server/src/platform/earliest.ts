/** The earliest of times in milliseconds; Infinity if there is none. */
export function earliest(times: readonly number[]): number {
  return times.reduce((first, time) => Math.min(first, time), Number.POSITIVE_INFINITY);
}
