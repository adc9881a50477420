/** The attributes that libpq knows for the primary. Gatehouse always connects to it. */
const primaryAttributes = new Set(["read-write", "primary"]);
const attributeParameter = "target_session_attrs";
/** More hosts are not a cluster. */
const maxHosts = 8;

/**
 * Splits a PostgreSQL URL with several hosts, as libpq reads it, into one URL for each host.
 *
 * @returns undefined if the URL is invalid, or asks for another server than the primary
 */
export function urlsOfHosts(text: string): readonly string[] | undefined {
  const match = /^(postgres(?:ql)?:\/\/(?:[^/?#@]*@)?)([^/?#@]*)(.*)$/s.exec(text);
  if (match === null) return undefined;
  const [, beginning = "", hosts = "", rest = ""] = match;
  const urls = hosts.split(",").map((host) => readDatabaseUrl(beginning + host + rest));
  const several = urls.length > 1;
  if (urls.length > maxHosts || (several && hosts.split(",").includes(""))) return undefined;
  const read: string[] = [];
  for (const url of urls) {
    const attribute = url?.searchParams.get(attributeParameter);
    if (url === undefined || (attribute != null && !primaryAttributes.has(attribute))) return undefined;
    // pg does not know the parameter and would send it to the server.
    if (attribute != null) url.searchParams.delete(attributeParameter);
    read.push(attribute == null && !several ? text : url.href.replace("@local-socket/", "@/"));
  }
  return read;
}

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
  return urlsOfHosts(text) !== undefined;
}

/** The location of the database, without the user, the password and other parameters, any of which may be secret. */
export function placeOfDatabase(databaseUrl: string): string {
  const urls = urlsOfHosts(databaseUrl)?.map(readDatabaseUrl);
  const [first] = urls ?? [];
  if (urls === undefined || first === undefined) return "an unreadable URL";
  const hosts = urls.map((url) => url?.searchParams.get("host") ?? url?.host);
  return `${hosts.join(",")}${first.pathname}`;
}
