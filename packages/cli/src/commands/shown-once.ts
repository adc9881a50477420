import { CommandFailure } from "../failure.ts";
import { OutputError } from "../output.ts";

/**
 * Waits until a secret is written that cannot be shown again.
 *
 * @param remedy a sentence that names the created record and says how to undo it
 * @throws CommandFailure if writing fails, even if only because the reader has gone: nobody has the secret then
 */
export async function shownOnce(writing: Promise<void>, remedy: string): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new CommandFailure(`${error.message} The secret is lost. ${remedy}`);
  }
}
