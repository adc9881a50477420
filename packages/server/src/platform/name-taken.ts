import { AppError } from "./app-error.ts";

/**
 * The error of a name that another record has.
 *
 * @param noun with its article: `a gateway`
 * @param rows the records that were written; a request writes one
 */
export function nameTaken(noun: string, rows: readonly { readonly name: string }[]): AppError {
  const name = JSON.stringify(rows[0]?.name ?? "");
  return new AppError("name_taken", {
    detail: `The tenant already has ${noun} with the name ${name}. Choose another name.`,
    errors: [{ pointer: "/name", message: "is taken" }],
  });
}
