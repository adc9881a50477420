/** Whether two facts say the same; they are plain data, whose keys have the same order wherever they come from the same place. */
export function haveSameFacts(one: object | undefined, other: object | undefined): boolean {
  if (one === other) return true;
  return one !== undefined && other !== undefined && JSON.stringify(one) === JSON.stringify(other);
}
