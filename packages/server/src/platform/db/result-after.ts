/**
 * The result of a query that was sent right after another one. If the earlier query fails, the database refuses the
 * later one too, and its refusal can be noticed first. The error of the earlier query is the one that says why.
 *
 * @throws the error of the earlier query; otherwise that of the later one
 */
export async function resultAfter<T>(earlier: Promise<unknown>, later: Promise<T>): Promise<T> {
  // Awaited below, unless the earlier query fails.
  later.catch(() => undefined);
  await earlier;
  return later;
}
