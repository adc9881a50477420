import { CommandFailure } from "../failure.ts";
import { OutputError } from "../output.ts";

/**
 * Waits until a secret is written that cannot be shown again.
 *
 * @param remedy names what was made, and says how to undo it
 * @throws CommandFailure when it was not written: also when nobody reads any more, as nobody has the secret then
 */
export async function shownOnce(writing: Promise<void>, remedy: string): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (!(error instanceof OutputError)) throw error;
    throw new CommandFailure(`${error.message} The secret is lost: ${remedy}`);
  }
}
