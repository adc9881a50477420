/** The most that one statement writes: enough to save round trips, and few enough to stay far below its time limit. */
const largestChunk = { rows: 2_000, characters: 1_000_000 };

/**
 * Writes rows with one statement per chunk. Rows travel as JSON, because a parameter cannot hold lists of different
 * lengths. A single row is one chunk, so commands on one record use the same statements as configurations.
 *
 * @param write takes rows for `json_to_recordset`; fields that are undefined become NULL
 * @returns the rows that the statements return
 */
export async function writeInChunks<Row>(
  rows: readonly object[],
  write: (json: string) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const returned: Row[] = [];
  let texts: string[] = [];
  let characters = 0;
  const flush = async () => {
    if (texts.length > 0) returned.push(...(await write(`[${texts.join(",")}]`)));
    texts = [];
    characters = 0;
  };
  for (const row of rows) {
    const text = JSON.stringify(row);
    texts.push(text);
    characters += text.length;
    if (texts.length >= largestChunk.rows || characters >= largestChunk.characters) await flush();
  }
  await flush();
  return returned;
}

/**
 * Whether `writeInChunks` writes these rows with one statement, which it sends at once. Otherwise each statement waits
 * for the previous one.
 */
export function fitOneChunk(rows: readonly object[]): boolean {
  if (rows.length > largestChunk.rows) return false;
  return rows.reduce((characters, row) => characters + JSON.stringify(row).length, 0) < largestChunk.characters;
}
