/**
 * Compares texts by code point, like PostgreSQL's collation "C". JavaScript compares UTF-16 units, which differs above
 * U+FFFF.
 */
export function byCodePoint(a: string, b: string): number {
  if (a === b) return 0;
  const left = a[Symbol.iterator]();
  const right = b[Symbol.iterator]();
  for (;;) {
    const [x, y] = [left.next().value, right.next().value];
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1;
    if (x !== y) return (x.codePointAt(0) ?? 0) - (y.codePointAt(0) ?? 0);
  }
}
