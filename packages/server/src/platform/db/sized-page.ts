/** Pages that are limited by the number of their rows and by the size of the rows. */

/** A row of a page, with the number of rows before the page was limited by their size. */
export interface SizedRow {
  readonly found: number;
}

/**
 * Returns SQL for the leading rows of a selection, with their columns and `found`. The row that reaches the size limit
 * is the last one, so that a page is never empty if there are rows.
 *
 * @param rows a selection with a column `size`, limited by the number of rows
 * @param order the columns that order the selection
 * @param mostSize the sum of sizes after which the page contains no further row
 */
export function sizedPage(rows: string, order: string, mostSize: number): string {
  return `SELECT * FROM (
      SELECT each.*, count(*) OVER ()::integer AS found,
             sum(each.size) OVER (ORDER BY ${order}) - each.size AS preceding
      FROM (${rows}) AS each
    ) AS sized WHERE preceding < ${mostSize}`;
}

/**
 * Returns whether no rows follow the page.
 *
 * @param mostRows the limit on the number of rows
 */
export function isLastPage(page: readonly SizedRow[], mostRows: number): boolean {
  const found = page[0]?.found ?? 0;
  return page.length === found && found < mostRows;
}
