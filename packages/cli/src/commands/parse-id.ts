import { InvalidArgumentError } from "commander";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Reads the id of a record from the command line, safe to be put into a path: `..` would make another path of it.
 *
 * @throws InvalidArgumentError, to which commander adds the value
 */
export function parseId(text: string): string {
  if (!uuid.test(text)) throw new InvalidArgumentError("An id looks like 01890a5d-ac96-774b-bcce-b302099a8057.");
  return text;
}
