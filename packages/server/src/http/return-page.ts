/** The page of the console to which a browser returns after a sign-in at an identity provider. */

export const firstPage = "/console/";
/** A browser holds the address in a cookie, with the other secrets of the sign-in. */
const maxLength = 1_500;
/**
 * Pages of the console have plain paths. An encoded path could be a different route than it appears, and an empty
 * segment could be a host.
 */
const pagePath = /^\/console\/(?!(?:assets|oidc|session|sign-in)(?:\/|$))(?:[\w-]+\/)*[\w-]*$/;

/**
 * Reads the page that a link to a provider names. Anybody can write such a link, so only pages of this console count.
 *
 * @param value path, query and fragment, such as `/console/authorize?client_id=…`
 * @returns undefined if the value is not a page of the console
 */
export function readReturnPage(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > maxLength || !value.startsWith(firstPage)) return undefined;
  if (!URL.canParse(value, "http://console.invalid")) return undefined;
  const { origin, pathname, search, hash } = new URL(value, "http://console.invalid");
  const page = `${pathname}${search}${hash}`;
  const isPage = origin === "http://console.invalid" && pagePath.test(pathname) && page.length <= maxLength;
  return isPage ? page : undefined;
}
