/** Every error that the API returns: one stable code with its status, title and documentation. */
import { recordErrors } from "./errors/record-errors.ts";
import { requestErrors } from "./errors/request-errors.ts";

export const errorDefinitions = { ...requestErrors, ...recordErrors };

/** A stable error code. */
export type ErrorCode = keyof typeof errorDefinitions;

/** Every error code, ordered by status. */
export const errorCodes = (Object.keys(errorDefinitions) as ErrorCode[]) // the keys of the table are its codes
  .sort((left, right) => errorDefinitions[left].status - errorDefinitions[right].status);

/** The problem type of a code (RFC 9457, section 3.1.1): a relative URI at which the server serves a page. */
export function problemType(code: ErrorCode): string {
  return `/errors/${code}`;
}
