import { parseAddressText } from "@gatehouse/addresses/address-text";
import { privateAddressProblem } from "@gatehouse/addresses/special-purpose";
import type { ProblemField } from "@gatehouse/contract/problem";
import type { ResourceType } from "@gatehouse/contract/records/address";

/** An address in the form that is stored. */
export interface CanonicalAddress {
  readonly text: string;
  readonly isIp: boolean;
}

export type AddressCheck =
  | { readonly ok: true; readonly value: CanonicalAddress }
  | { readonly ok: false; readonly message: string };

/**
 * Checks an address for a resource of a type: its form, and for PRIVATE that it is neither globally reachable nor a part
 * of the device pool (contract, field rules).
 */
export function checkAddress(text: string, type: ResourceType): AddressCheck {
  const reading = parseAddressText(text);
  if (!reading.ok) return { ok: false, message: reading.problem };
  const { value } = reading;
  const problem = type === "PRIVATE" && value.isIp ? privateAddressProblem(value.range) : undefined;
  if (problem?.reason === "globally_reachable") {
    return {
      ok: false,
      message: `${value.text} is or contains ${problem.conflict}, which is not set aside for private networks; use type INTERNET or SAAS`,
    };
  }
  if (problem !== undefined) {
    return { ok: false, message: `${value.text} overlaps ${problem.conflict}, from which devices get their addresses` };
  }
  return { ok: true, value: { text: value.text, isIp: value.isIp } };
}

/** Addresses of one resource that are the same once in canonical form. */
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

/** Says of a field that the resource has its address already. */
export function repetition(pointer: string, text: string): ProblemField {
  return { pointer, message: `${text} stands in the resource already` };
}
