/** The form of a moment in a request: ISO 8601 with a zone; dates alone, and times without seconds, only in filters. */
const timestampForm = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
const filterForm = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Whether a text is a moment that exists and that the database can hold. Leap seconds are not among them. */
export function isTimestamp(text: string): boolean {
  return timestampForm.test(text) && canonicalTimestamp(text) !== undefined;
}

/**
 * A moment in the one form that is stored and compared: UTC, with milliseconds.
 *
 * @param text ISO 8601; a date alone is its start in UTC
 * @returns undefined when there is no such moment, or its year is not 1 to 9999
 */
export function canonicalTimestamp(text: string): string | undefined {
  const [, year, month, day] = filterForm.exec(text) ?? [];
  const moment = Date.parse(text);
  if (year === undefined || Number.isNaN(moment)) return undefined;
  // Date.parse takes February 30 for March 1.
  if (new Date(`${year}-${month}-${day}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  const canonical = new Date(moment).toISOString();
  return /^(?!0000)\d{4}-/.test(canonical) ? canonical : undefined;
}
