import { parseAddressText } from "@gatehouse/addresses/address-text";
import { addressWidth, type IpVersion } from "@gatehouse/addresses/ip-address";

/** An address of a resource, and the text by which the directory of addresses finds it. */
export type AddressKey =
  | { readonly kind: "host" | "wildcard"; readonly name: string; readonly text: string }
  | {
      readonly kind: "range";
      readonly version: IpVersion;
      readonly first: bigint;
      readonly prefixLength: number;
      readonly text: string;
    };

/**
 * The key that all notations of an address share.
 *
 * @returns undefined for a text that is not an address; such a text is never stored
 */
export function addressKeyOf(address: string): AddressKey | undefined {
  const reading = parseAddressText(address);
  if (!reading.ok) return undefined;
  const { value } = reading;
  if (value.isIp) {
    const { version, first, prefixLength } = value.range;
    return { kind: "range", version, first, prefixLength, text: rangeKey(version, first, prefixLength) };
  }
  if (value.kind === "host") return { kind: "host", name: value.text, text: hostKey(value.text) };
  // A wildcard is found by the parent domain of the names that it matches.
  const name = value.text.slice("*.".length);
  return { kind: "wildcard", name, text: wildcardKey(name) };
}

export function hostKey(name: string): string {
  return `=${name}`;
}

export function wildcardKey(parent: string): string {
  return `*${parent}`;
}

/** @param bits an address of the range */
export function rangeKey(version: IpVersion, bits: bigint, prefixLength: number): string {
  return `${version}/${prefixLength}/${(bits >> BigInt(addressWidth(version) - prefixLength)).toString(36)}`;
}
