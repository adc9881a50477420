/** Results of benchmarks beside their targets. `npm run bench:api` collects the results of several benchmarks. */

export interface TargetRow {
  readonly name: string;
  readonly figure: string;
  readonly target: string;
  readonly isReached: boolean;
}

/** Prints a result beside its target, and sends the row to the benchmark that started this one. */
export function reportTarget(row: TargetRow): void {
  process.stdout.write(`  target: ${row.figure}, ${row.target}${row.isReached ? "" : ": MISSED"}\n`);
  process.send?.(row);
}

/** @param rows in the order of the table */
export function tableOf(rows: readonly TargetRow[]): string {
  const lines = rows.map(
    ({ name, figure, target, isReached }) => `| ${name} | ${figure} | ${target}${isReached ? "" : ": **missed**"} |`,
  );
  return ["| what | result | target |", "|---|---|---|", ...lines].join("\n");
}
