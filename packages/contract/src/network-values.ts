/**
 * Texts of addresses and keys as agents receive them.
 *
 * The texts end up in the commands of other programs, so each pattern leaves no room for anything else.
 */
import Type from "typebox";

export const ipv4Pattern = "(?:[0-9]{1,3}\\.){3}[0-9]{1,3}";
export const ipv6Pattern = "[0-9a-f:]{2,39}";
export const hostNamePattern = "[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?";

export const Ipv4Address = Type.String({ pattern: `^${ipv4Pattern}$` });
export const IpAddress = Type.String({ pattern: `^(?:${ipv4Pattern}|${ipv6Pattern})$` });
/** An address with its prefix length, which is present even for a single address. */
export const IpBlock = Type.String({ pattern: `^(?:${ipv4Pattern}/[0-9]{1,2}|${ipv6Pattern}/[0-9]{1,3})$` });
/** 32 bytes in base64 without the highest bit, which no canonical WireGuard key has (RFC 7748, section 5). */
export const canonicalKeyPattern = "^[A-Za-z0-9+/]{41}[A-HQ-Xg-nw-z0-3][AEIMQUYcgkosw048]=$";
/** A WireGuard public key: 32 bytes in base64. */
export const PublicKey = Type.String({ pattern: "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$" });
/** `host:port`, IPv6 in brackets. */
export const Endpoint = Type.String({
  pattern: `^(?:${hostNamePattern}|\\[${ipv6Pattern}\\]):[0-9]{1,5}$`,
  maxLength: 262,
});

/**
 * Milliseconds since 1970, UTC, up to the end of the year 9999. Such a year has four digits, and adding a duration to
 * the number stays exact.
 */
export const Moment = Type.Integer({ minimum: 0, maximum: Date.UTC(10_000, 0) - 1 });
