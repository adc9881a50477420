import { parseAddressText } from "@gatehouse/addresses/address-text";
import { formatIpRange, type IpRange, parseIpRange } from "@gatehouse/addresses/ip-ranges";
import type { Service } from "@gatehouse/agent-protocol/gateway/configuration";
import type { CompiledResource } from "../model/compiled-resource.ts";
import { cachedByList, listsOf } from "../model/protocol-lists.ts";
import type { Table } from "../model/table.ts";

/** The services of a protocol. */
export type ServiceList = readonly Service[];

/** An address of a resource in the notation of configurations. */
export interface ParsedAddress {
  /** The address as it is stored. */
  readonly address: string;
  readonly key: string;
  /** Undefined for a name. */
  readonly range: IpRange | undefined;
  /** The services that the resource offers at the address: one list for each protocol, which addresses share. */
  readonly services: readonly ServiceList[];
  /** Blocks that contain the answers for a private name. Null for the default. */
  readonly answersWithin: readonly IpRange[] | null;
}

const byBase = new WeakMap<Table<CompiledResource>["base"], ParsedAddresses>();

/**
 * A cache of the addresses of a tenant's resources. Tables with a common base share it, because few of their resources
 * differ. It has one entry for each id, so the limit on changes to a base also limits the entries.
 */
export class ParsedAddresses {
  readonly #known = new Map<string, { readonly generation: number; readonly addresses: readonly ParsedAddress[] }>();

  static for({ base }: Table<CompiledResource>): ParsedAddresses {
    const known = byBase.get(base) ?? new ParsedAddresses();
    byBase.set(base, known);
    return known;
  }

  /** The number of resources whose addresses are retained. */
  get size(): number {
    return this.#known.size;
  }

  of(resource: CompiledResource): readonly ParsedAddress[] {
    const { id, generation } = resource;
    const known = this.#known.get(id);
    if (known?.generation === generation) return known.addresses;
    const addresses = addressesOf(resource);
    this.#known.set(id, { generation, addresses });
    return addresses;
  }
}

/** Parses the addresses of a resource. */
export function addressesOf({ facts }: CompiledResource): readonly ParsedAddress[] {
  return facts.addresses.flatMap(({ address, protocols, answersWithin }) => {
    const reading = parseAddressText(address);
    if (!reading.ok) return [];
    const range = reading.value.isIp ? reading.value.range : undefined;
    const key = range === undefined ? reading.value.text : formatIpRange(range);
    const services = listsOf(protocols).map(servicesOf);
    return [{ address, key, range, services, answersWithin: rangesOf(answersWithin ?? null) }];
  });
}

const servicesOf = cachedByList(
  (list): ServiceList =>
    list.map(({ protocol, port }) => {
      if (port === undefined || protocol === "ICMP") return { protocol };
      const [first = "", last = first] = port.split("-");
      return { protocol, ports: [Number(first), Number(last)] };
    }),
);

function rangesOf(texts: readonly string[] | null): readonly IpRange[] | null {
  if (texts === null) return null;
  return texts.flatMap((text) => {
    const reading = parseIpRange(text);
    return reading.ok ? [reading.value] : [];
  });
}
