/**
 * Parses a PostgreSQL URL like `pg` does. The host may be absent before the path, as for a socket in `?host=`.
 *
 * @returns undefined if the URL is invalid
 */
function readDatabaseUrl(text: string): URL | undefined {
  const whole = text.replace("@/", "@local-socket/");
  return URL.canParse(whole) ? new URL(whole) : undefined;
}

export function isDatabaseUrl(text: string): boolean {
  return readDatabaseUrl(text) !== undefined;
}

/** The location of the database, without the user, the password and other parameters, any of which may be secret. */
export function placeOfDatabase(databaseUrl: string): string {
  const url = readDatabaseUrl(databaseUrl);
  return url === undefined ? "an unreadable URL" : `${url.searchParams.get("host") ?? url.host}${url.pathname}`;
}
