/**
 * The format of times in requests: ISO 8601 with a time zone. Dates, and times without seconds, are allowed only in
 * filters.
 */
const timestampForm = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;
const filterForm = /^(\d{4})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Whether the text is an existing time that the database can store. Leap seconds are excluded. */
export function isTimestamp(text: string): boolean {
  return timestampForm.test(text) && canonicalTimestamp(text) !== undefined;
}

/**
 * The time in the format that is stored and compared: UTC with milliseconds.
 *
 * @param text ISO 8601; a date alone is its start in UTC
 * @returns undefined if the time does not exist, or its year is not between 1 and 9999
 */
export function canonicalTimestamp(text: string): string | undefined {
  const [, year, month, day] = filterForm.exec(text) ?? [];
  const moment = Date.parse(text);
  if (year === undefined || Number.isNaN(moment)) return undefined;
  // Date.parse interprets February 30 as March 1.
  if (new Date(`${year}-${month}-${day}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  const canonical = new Date(moment).toISOString();
  return /^(?!0000)\d{4}-/.test(canonical) ? canonical : undefined;
}
