/** The most edits in a typing error. More edits make another name. */
const maxEdits = 3;

/** Returns the candidate that a mistyped name most likely means, or undefined if none is close. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const [nearest] = candidates
    .map((candidate) => ({ candidate, edits: isBeginning(name, candidate) ? 1 : editsBetween(name, candidate) }))
    .filter(({ edits, candidate }) => edits <= Math.min(maxEdits, candidate.length / 2))
    .sort((a, b) => a.edits - b.edits || a.candidate.length - b.candidate.length);
  return nearest?.candidate;
}

/** Whether the name is the candidate without its last words: `dataDir` and `DATA_DIR` begin with `data` and `DATA`. */
function isBeginning(name: string, candidate: string): boolean {
  return (
    name.length >= candidate.length / 2 && candidate.startsWith(name) && /^[_A-Z]/.test(candidate.slice(name.length))
  );
}

/** The Levenshtein distance: the number of characters to insert, delete or replace. */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [line, character] of [...from].entries()) {
    const next = [line + 1];
    for (const [column, other] of [...to].entries()) {
      const replaced = (row[column] ?? 0) + (character === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
