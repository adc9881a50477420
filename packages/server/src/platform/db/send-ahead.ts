/** The maximum number of unanswered statements: PostgreSQL executes one while the next one is prepared. */
const mostUnanswered = 2;

/**
 * Sends statements before the previous ones are answered, but only a few at a time, so that not all rows are in memory.
 *
 * @param prepare calls `sent` with the answer of each statement that it sent; `sent` waits until it can send another
 * @throws the error of the first statement that failed, or that of `prepare`, after all statements were answered
 */
export async function sendAhead(
  prepare: (sent: (answer: Promise<unknown>) => Promise<void>) => Promise<void>,
): Promise<void> {
  const answers: Promise<{ readonly error: unknown } | undefined>[] = [];
  let failed: { readonly error: unknown } | undefined;
  const next = async () => {
    const outcome = await answers.shift();
    failed ??= outcome;
  };
  try {
    await prepare(async (answer) => {
      answers.push(
        answer.then(
          () => undefined,
          (error: unknown) => ({ error }),
        ),
      );
      if (answers.length >= mostUnanswered) await next();
      if (failed !== undefined) throw failed.error;
    });
  } finally {
    while (answers.length > 0) await next();
  }
  if (failed !== undefined) throw failed.error;
}
