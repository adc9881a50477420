import { parseAddressText } from "@gatehouse/addresses/address-text";
import { closedBlockOf } from "@gatehouse/addresses/closed-targets";
import { formatIpRange, parseIpRange } from "@gatehouse/addresses/ip-ranges";
import { privateAddressProblem } from "@gatehouse/addresses/special-purpose";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { ResourceType } from "@gatehouse/contract/records/address";

/** An address in canonical form. */
export interface CanonicalAddress {
  readonly text: string;
  readonly isIp: boolean;
}

export type AddressCheck =
  | { readonly ok: true; readonly value: CanonicalAddress }
  | { readonly ok: false; readonly message: string };

/**
 * Checks an address for a resource of a type. A PRIVATE address must not be globally reachable or overlap the device
 * pool (contract, field rules).
 */
export function checkAddress(text: string, type: ResourceType): AddressCheck {
  const reading = parseAddressText(text);
  if (!reading.ok) return { ok: false, message: reading.problem };
  const { value } = reading;
  const problem = type === "PRIVATE" && value.isIp ? privateAddressProblem(value.range) : undefined;
  if (problem?.reason === "globally_reachable") {
    return {
      ok: false,
      message: `${value.text} is or contains ${problem.conflict}, which is not reserved for private networks; use type INTERNET or SAAS`,
    };
  }
  if (problem !== undefined) {
    return { ok: false, message: `${value.text} overlaps ${problem.conflict}, the address pool of devices` };
  }
  return { ok: true, value: { text: value.text, isIp: value.isIp } };
}

/**
 * Checks an address that is created or changed. Unlike a stored address, a new PRIVATE address cannot be in a closed
 * block: gateways would open their own machine, its link, or the metadata service of its cloud.
 *
 * @param stored the canonical address before the change. It stays valid
 */
export function checkNewAddress(text: string, type: ResourceType, stored?: string): AddressCheck {
  const check = checkAddress(text, type);
  if (!check.ok || check.value.text === stored) return check;
  const message = closedAddressProblem(check.value.text, type);
  return message === undefined ? check : { ok: false, message };
}

/** The problem of a new address in a blocked range, or undefined. @param text in canonical form */
export function closedAddressProblem(text: string, type: ResourceType): string | undefined {
  const reading = type === "PRIVATE" ? parseIpRange(text) : undefined;
  const block = reading?.ok ? closedBlockOf(reading.value) : undefined;
  return (
    block &&
    `${text} is in, contains or embeds ${block}, which is reserved for machines, links, tunnels or metadata services. Use an address of the site's network.`
  );
}

export type AnswersWithinCheck =
  | { readonly ok: true; readonly value: readonly string[] | null }
  | { readonly ok: false; readonly errors: readonly ProblemField[] };

/**
 * Checks the blocks that contain the answers for a name. IP addresses, and names of other resources, have none.
 *
 * @param texts null or undefined for the default
 * @param at the pointer of the address in the request
 * @returns the blocks in canonical form, each once
 */
export function checkAnswersWithin(
  texts: readonly string[] | null | undefined,
  { text, isIp }: CanonicalAddress,
  type: ResourceType,
  at = "",
): AnswersWithinCheck {
  if (texts === null || texts === undefined) return { ok: true, value: null };
  const pointer = `${at}/answersWithin`;
  const refuse = (message: string): AnswersWithinCheck => ({ ok: false, errors: [{ pointer, message }] });
  if (type !== "PRIVATE") {
    return refuse(`applies only to names of PRIVATE resources, and this resource has type ${type}. Remove the field.`);
  }
  if (isIp) return refuse(`applies only to names, and ${text} is an IP address or a CIDR. Remove the field.`);
  const readings = texts.map((one) => parseIpRange(one.trim()));
  const errors = readings.flatMap((reading, index) =>
    reading.ok ? [] : [{ pointer: `${pointer}/${index}`, message: reading.problem }],
  );
  if (errors.length > 0) return { ok: false, errors };
  const blocks = new Set(readings.flatMap((reading) => (reading.ok ? [formatIpRange(reading.value)] : [])));
  return { ok: true, value: [...blocks].sort() };
}

/** Problems of addresses that are equal in canonical form. */
export function repeatedAddresses(addresses: readonly CanonicalAddress[]): readonly ProblemField[] {
  const seen = new Set<string>();
  return addresses.flatMap(({ text }, index) => {
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    return [repetition(`/addresses/${index}/address`, text)];
  });
}

/** The problem of an address that the resource already has. */
export function repetition(pointer: string, text: string): ProblemField {
  return { pointer, message: `${text} is already an address of the resource` };
}
