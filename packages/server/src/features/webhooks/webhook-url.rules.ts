import { type AllowedNetworks, literalAddress, mayConnect } from "../../platform/outbound/outbound-networks.ts";

export type UrlCheck =
  | {
      readonly ok: true;
      /** The URL as the parser serializes it: addresses and host names in canonical form. */
      readonly url: URL;
    }
  | { readonly ok: false; readonly message: string };

/** Leaves room for characters that the parser escapes; the contract allows 2,000. */
const longestUrl = 6_000;

/**
 * Validates the URL of a webhook. The addresses of a host name are checked with every attempt, because they may change.
 * A literal address is also checked here, for a clear message.
 */
export function checkWebhookUrl(text: string, networks: AllowedNetworks): UrlCheck {
  const refuse = (message: string): UrlCheck => ({ ok: false, message });
  if (!URL.canParse(text)) return refuse("is not a URL; use one such as https://hooks.example.com/gatehouse");
  const url = new URL(text);
  if (url.href.length > longestUrl) return refuse("is too long");
  if (url.protocol !== "https:" && url.protocol !== "http:") return refuse(`is ${url.protocol} and not https`);
  if (url.hostname === "") return refuse("names no host");
  if (url.username !== "" || url.password !== "") {
    return refuse("holds a user name or a password; messages are signed, so the receiver needs none");
  }
  if (text.includes("#")) return refuse("has a fragment, which is never sent");
  const secure = url.protocol === "https:";
  const literal = literalAddress(url);
  if (!secure && (literal === undefined ? networks.length === 0 : !mayConnect(literal, false, networks))) {
    return refuse("is not https; without TLS, only networks that the installation allows can be sent to");
  }
  if (literal !== undefined && !mayConnect(literal, secure, networks)) {
    return refuse(`names ${literal}, which is not an address on the internet`);
  }
  return { ok: true, url };
}
