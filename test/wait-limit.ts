/**
 * How long tests wait for a condition, in milliseconds. It only ends waits for what never happens: a busy machine takes
 * several times as long as a quiet one.
 */
export const waitLimitMs = 30_000;
