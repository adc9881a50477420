/** What one statement writes at most: enough to make round trips cheap, little enough to stay far below its time limit. */
const largestChunk = { rows: 2_000, characters: 1_000_000 };

/**
 * Hands rows to a statement as JSON, a part at a time: lists inside rows could not be parameters of their own.
 *
 * @param write takes rows for `json_to_recordset`
 */
export async function writeInChunks(rows: readonly object[], write: (json: string) => Promise<unknown>): Promise<void> {
  let texts: string[] = [];
  let characters = 0;
  const flush = async () => {
    if (texts.length > 0) await write(`[${texts.join(",")}]`);
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
}
