/** The cookie that stands for a signed-in person's API key. */
import { parseCookie, stringifySetCookie } from "cookie";

/** With the prefix, browsers take it over TLS alone, for this host alone (RFC 6265bis, section 4.1.3.2). */
const names = { secure: "__Host-gatehouse_session", plain: "gatehouse_session" };

/** Longer than any token of ours. */
const maximumTokenLength = 200;

/** @returns the session's token; undefined where the header holds none that could be one */
export function sessionTokenOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const cookies = parseCookie(header);
  const token = cookies[names.secure] ?? cookies[names.plain];
  return token === undefined || token === "" || token.length > maximumTokenLength ? undefined : token;
}

const attributes = { httpOnly: true, sameSite: "strict", path: "/" } as const;

/** @param secure whether the page came over TLS */
export function sessionCookie(token: string, secure: boolean): string {
  return stringifySetCookie({ name: secure ? names.secure : names.plain, value: token, secure, ...attributes });
}

/** What makes a browser forget the session, over TLS or not. */
export function forgottenSessionCookies(): string[] {
  return [
    stringifySetCookie({ name: names.secure, value: "", maxAge: 0, secure: true, ...attributes }),
    stringifySetCookie({ name: names.plain, value: "", maxAge: 0, ...attributes }),
  ];
}
