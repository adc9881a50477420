import { formatIpAddress } from "./ip-address.ts";
import { formatIpRange, type IpRange, parseIpRange } from "./ip-ranges.ts";
import { quoteText } from "./quote-text.ts";

/** What an administrator may write as the address of a resource, in the one form in which it is stored. */
export type AddressValue =
  | { readonly text: string; readonly isIp: true; readonly kind: "ip" | "cidr"; readonly range: IpRange }
  | { readonly text: string; readonly isIp: false; readonly kind: "host" | "wildcard" };

export type AddressReading =
  | { readonly ok: true; readonly value: AddressValue }
  | { readonly ok: false; readonly problem: string };

const LONGEST_NAME = 253;
const LONGEST_LABEL = 63;
/** Room for "*." and a final dot. */
const LONGEST_TEXT = LONGEST_NAME + 3;

/** RFC 1123 labels, and the underscore: DNS has it (RFC 2181, section 11), and real private networks use it. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/**
 * Reads the address of a resource: an IPv4 or IPv6 address, a CIDR block, a host or domain name, or `*.domain`.
 *
 * Addresses are stored in canonical form (RFC 5952), names in lower case and without a final dot. A full-length CIDR
 * ("192.0.2.1/32") stays one. Names outside ASCII are written in their xn-- form. A text that programs could take for
 * a number (its last label all digits, or 0x…) is never a name.
 *
 * @returns the address, or a problem that says what to write instead
 */
export function parseAddressText(text: string): AddressReading {
  if (text === "") return problem("The address is empty: write an IP address, a CIDR block or a host name.");
  if (text.length > LONGEST_TEXT) return problem(`${quoteText(text)} is longer than ${LONGEST_NAME} characters.`);
  const misplaced = foreignPart(text);
  if (misplaced !== undefined) return problem(`${quoteText(text)} ${misplaced}`);
  return isMeantAsIp(text) ? parseIp(text) : parseName(text);
}

function parseIp(text: string): AddressReading {
  const reading = parseIpRange(text);
  if (!reading.ok) return reading;
  const range = reading.value;
  if (text.includes("/")) return { ok: true, value: { text: formatIpRange(range), isIp: true, kind: "cidr", range } };
  const canonical = formatIpAddress({ version: range.version, bits: range.first });
  return { ok: true, value: { text: canonical, isIp: true, kind: "ip", range } };
}

function parseName(text: string): AddressReading {
  const lower = text.toLowerCase();
  const isWildcard = lower.startsWith("*.");
  const relative = isWildcard ? lower.slice(2) : lower;
  const name = relative.endsWith(".") ? relative.slice(0, -1) : relative;
  const fault = nameFault(name);
  if (fault !== undefined) return problem(`${quoteText(text)} ${fault}`);
  return {
    ok: true,
    value: { text: isWildcard ? `*.${name}` : name, isIp: false, kind: isWildcard ? "wildcard" : "host" },
  };
}

/** What people paste that is more than an address; the sentence goes on after the text. */
function foreignPart(text: string): string | undefined {
  if (/\s/.test(text)) return "has white space; remove it.";
  if (text.includes("://")) return "is a URL; write only its host name.";
  if (text.startsWith("[")) return "has brackets; write an IPv6 address without them.";
  if (/^[^:]+:[0-9]+$/.test(text)) return "has a port; write the address alone, ports belong to its protocols.";
  if (/^[0-9.]+-[0-9.]+$/.test(text)) return "is a range with a dash; write it as CIDR blocks, e.g. 192.0.2.0/24.";
  return undefined;
}

/** Digits and dots, a colon or a slash cannot be a name; they get the messages about IP addresses. */
function isMeantAsIp(text: string): boolean {
  return /^[0-9.]+$/.test(text) || /[:/]/.test(text);
}

function nameFault(name: string): string | undefined {
  if (/[^\p{ASCII}]/u.test(name)) return "has characters outside ASCII; write the name in its xn-- form (punycode).";
  if (name.includes("*")) return "has a * in the wrong place; it can only be the first label, as in *.example.com.";
  if (name.length > LONGEST_NAME) return `is longer than ${LONGEST_NAME} characters.`;
  const labels = name.split(".");
  for (const label of labels) {
    if (label === "") return "has an empty label; there is a dot too many.";
    if (label.length > LONGEST_LABEL)
      return `has a label longer than ${LONGEST_LABEL} characters: ${quoteText(label)}.`;
    if (!LABEL.test(label)) {
      return "is not a host name: labels have letters, digits, - and _, and neither begin nor end with -.";
    }
  }
  if (/^(?:[0-9]+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? "")) {
    return "is not a host name: its last label is a number, so programs could read it as an IP address.";
  }
  return undefined;
}

function problem(text: string): AddressReading {
  return { ok: false, problem: text };
}
