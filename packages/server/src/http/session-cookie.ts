/** The cookie that represents a signed-in user's API key. */
import { parseCookie, stringifySetCookie } from "cookie";

/** With the prefix, browsers accept the cookie only over TLS and only for this host (RFC 6265bis, section 4.1.3.2). */
const names = { secure: "__Host-gatehouse_session", plain: "gatehouse_session" };

/** Holds a challenge until the browser answers it. */
const ceremonyNames = { secure: "__Host-gatehouse_ceremony", plain: "gatehouse_ceremony" };
/** How long a browser keeps a challenge, in seconds. The challenge itself expires too. */
const ceremonySeconds = 5 * 60;
const maxCeremonyLength = 500;

/** Longer than any session token. */
const maxTokenLength = 200;

/**
 * The session token in a Cookie header; undefined if it has no plausible one.
 *
 * @param overTls whether the page was loaded over TLS. If so, the plain cookie does not count: another host of the same
 *   site could have set it, and the user would work in the tenant of that host's choice.
 */
export function sessionTokenOf(header: string | undefined, overTls: boolean): string | undefined {
  if (header === undefined) return undefined;
  const cookies = parseCookie(header);
  const token = cookies[names.secure] ?? (overTls ? undefined : cookies[names.plain]);
  return token === undefined || token === "" || token.length > maxTokenLength ? undefined : token;
}

const attributes = { httpOnly: true, sameSite: "strict", path: "/" } as const;

/** @param secure whether the page was loaded over TLS */
export function sessionCookie(token: string, secure: boolean): string {
  return stringifySetCookie({ name: secure ? names.secure : names.plain, value: token, secure, ...attributes });
}

/** Cookies that make a browser delete the session, with and without TLS. */
export function forgottenSessionCookies(): string[] {
  return [
    stringifySetCookie({ name: names.secure, value: "", maxAge: 0, secure: true, ...attributes }),
    stringifySetCookie({ name: names.plain, value: "", maxAge: 0, ...attributes }),
  ];
}

/** The encrypted challenge in a Cookie header. Over TLS, the plain cookie does not count, as with sessions. */
export function ceremonyOf(header: string | undefined, overTls: boolean): string | undefined {
  if (header === undefined) return undefined;
  const cookies = parseCookie(header);
  const text = cookies[ceremonyNames.secure] ?? (overTls ? undefined : cookies[ceremonyNames.plain]);
  return text === undefined || text === "" || text.length > maxCeremonyLength ? undefined : text;
}

/** @param secure whether the page was loaded over TLS */
export function ceremonyCookie(text: string, secure: boolean): string {
  const name = secure ? ceremonyNames.secure : ceremonyNames.plain;
  return stringifySetCookie({ name, value: text, secure, maxAge: ceremonySeconds, ...attributes });
}

/** Cookies that make a browser delete a challenge that was answered. */
export function forgottenCeremonyCookies(): string[] {
  return [
    stringifySetCookie({ name: ceremonyNames.secure, value: "", maxAge: 0, secure: true, ...attributes }),
    stringifySetCookie({ name: ceremonyNames.plain, value: "", maxAge: 0, ...attributes }),
  ];
}
