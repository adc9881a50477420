/**
 * Waits for all promises like `Promise.all`, but also after an error: the queries of a transaction must be answered
 * before it ends.
 *
 * @throws the error of the first promise in the list that was rejected
 */
export async function allSettled<Results extends readonly unknown[]>(
  promises: readonly [...{ [Index in keyof Results]: Promise<Results[Index]> }],
): Promise<Results> {
  const settled = await Promise.allSettled(promises);
  for (const outcome of settled) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
  return settled.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as unknown as Results; // in order
}
