import pg from "pg";

/**
 * Turns PostgreSQL's text for a timestamptz, in a session whose time zone is UTC, into ISO 8601 with milliseconds.
 * Takes both `2026-01-02 03:04:05.6+00` (a column) and `2026-01-02T03:04:05.6+00:00` (inside json).
 */
export function isoTimestamp(text: string): string {
  const day = text.slice(0, 10);
  const time = text.slice(11, 19);
  const end = text.indexOf("+", 19);
  const fraction = end > 20 ? text.slice(20, end) : "";
  return `${day}T${time}.${fraction.padEnd(3, "0").slice(0, 3)}Z`;
}

const { TIMESTAMPTZ, INT8 } = pg.types.builtins;

/**
 * Parsers of columns: timestamps become ISO strings, and 64-bit counts become numbers, because no count exceeds 2^53.
 */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser(oid, format) {
    if (format !== "binary") {
      if (oid === TIMESTAMPTZ) return isoTimestamp;
      if (oid === INT8) return Number;
    }
    return pg.types.getTypeParser(oid, format);
  },
};
