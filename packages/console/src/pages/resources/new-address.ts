export interface NewAddress {
  address: string;
  protocols: string[];
}

export function sayAddresses(addresses: readonly NewAddress[]): string {
  return addresses.map(({ address }) => address).join(", ") || "none";
}
