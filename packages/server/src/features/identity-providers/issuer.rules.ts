import { type AllowedNetworks, literalAddress, mayConnect } from "../../platform/outbound/outbound-networks.ts";

/**
 * Validates an issuer. The addresses of a host name are checked with every request, because they may change.
 *
 * @returns the problem, which completes "The issuer …"; undefined for a valid issuer
 */
export function issuerProblem(text: string, networks: AllowedNetworks): string | undefined {
  if (!URL.canParse(text)) return "is not a URL; use one such as https://login.example.com";
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return `is ${url.protocol} and not https`;
  if (url.username !== "" || url.password !== "") return "contains a user name or a password";
  if (/[?#]/.test(text)) return "contains a query or a fragment";
  const secure = url.protocol === "https:";
  const literal = literalAddress(url);
  if (!secure && (literal === undefined ? networks.length === 0 : !mayConnect(literal, false, networks))) {
    return "is not https; without TLS, only networks that the installation allows can be reached";
  }
  if (literal !== undefined && !mayConnect(literal, secure, networks)) {
    return `names ${literal}, which is not an address on the internet`;
  }
  return undefined;
}
