/** Every error the API answers with: one stable code, one status, one title, one page of documentation. */
import { errorsOfRecords } from "./errors/of-records.ts";
import { errorsOfRequests } from "./errors/of-requests.ts";

export const errorDefinitions = { ...errorsOfRequests, ...errorsOfRecords };

/** A stable error code. */
export type ErrorCode = keyof typeof errorDefinitions;

/** Every error code, in the order of their statuses. */
export const errorCodes = (Object.keys(errorDefinitions) as ErrorCode[]) // the keys of the table are its codes
  .sort((left, right) => errorDefinitions[left].status - errorDefinitions[right].status);

/** The problem type of a code: a reference that the installation itself serves a page at (RFC 9457, section 3.1.1). */
export function problemType(code: ErrorCode): string {
  return `/errors/${code}`;
}
