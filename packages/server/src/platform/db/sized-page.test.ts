import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { isLastPage, type SizedRow, sizedPage } from "./sized-page.ts";

const client = new pg.Client(inject("database"));
beforeAll(() => client.connect());
afterAll(() => client.end());

interface Numbered extends SizedRow {
  readonly id: number;
}

/** Rows of 10 units each, in pages of at most 3 rows. */
async function readPage(total: number, after: number, mostSize: number): Promise<readonly Numbered[]> {
  const rows = `SELECT id, 10 AS size FROM generate_series(${after + 1}, ${total}) AS id ORDER BY id LIMIT 3`;
  return (await client.query<Numbered>(`${sizedPage(rows, "id", mostSize)} ORDER BY id`)).rows;
}

describe("a page limited by rows and size", () => {
  test.each<[what: string, total: number, mostSize: number, ids: readonly number[], isLast: boolean]>([
    ["no rows", 0, 100, [], true],
    ["fewer rows than the limit", 2, 100, [1, 2], true],
    ["as many rows as the limit, of which more may follow", 3, 100, [1, 2, 3], false],
    ["more rows than the limit", 9, 100, [1, 2, 3], false],
    ["rows that reach the size limit exactly", 9, 20, [1, 2], false],
    ["a page cut by its size before its last row", 2, 10, [1], false],
    ["a first row over the size limit", 9, 1, [1], false],
  ])("%s", async (_, total, mostSize, ids, isLast) => {
    const page = await readPage(total, 0, mostSize);
    expect(page.map(({ id }) => id)).toEqual(ids);
    expect(isLastPage(page, 3)).toBe(isLast);
  });

  test("pages together contain each row once", async () => {
    const found: number[] = [];
    for (let isLast = false; !isLast; ) {
      const page = await readPage(8, found.at(-1) ?? 0, 20);
      found.push(...page.map(({ id }) => id));
      isLast = isLastPage(page, 3);
    }
    expect(found).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
