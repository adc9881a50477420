/**
 * Reads a PostgreSQL URL as `pg` does: the host may be left out before the path, as for a socket named in `?host=`.
 *
 * @returns undefined when it cannot be read
 */
function readDatabaseUrl(text: string): URL | undefined {
  const whole = text.replace("@/", "@local-socket/");
  return URL.canParse(whole) ? new URL(whole) : undefined;
}

export function isDatabaseUrl(text: string): boolean {
  return readDatabaseUrl(text) !== undefined;
}

/** Where the database is, without the user, the password and other parameters, any of which may be secret. */
export function placeOfDatabase(databaseUrl: string): string {
  const url = readDatabaseUrl(databaseUrl);
  return url === undefined ? "an unreadable URL" : `${url.searchParams.get("host") ?? url.host}${url.pathname}`;
}
