/** Whether two facts are equal. Facts are plain data, and facts of one kind have their keys in the same order. */
export function haveSameFacts(one: object | undefined, other: object | undefined): boolean {
  if (one === other) return true;
  return one !== undefined && other !== undefined && JSON.stringify(one) === JSON.stringify(other);
}
