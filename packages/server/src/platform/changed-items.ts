/** The items that only one of two sets contains: those that a change removes, then those that it adds. */
export function changedItems<T>(before: readonly T[], after: readonly T[]): readonly T[] {
  const [had, has] = [new Set(before), new Set(after)];
  return [...before.filter((item) => !has.has(item)), ...after.filter((item) => !had.has(item))];
}
