import { InvalidArgumentError } from "commander";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Parses the id of a record. The id is safe to use in a path; `..` would lead to another path.
 *
 * @throws InvalidArgumentError, to which commander adds the value
 */
export function parseId(text: string): string {
  if (!uuid.test(text)) throw new InvalidArgumentError("Use an id such as 01890a5d-ac96-774b-bcce-b302099a8057.");
  return text;
}
