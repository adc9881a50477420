/** Addresses that several resources have. A connection goes to one of them (contract, "Policy evaluation", step 2). */
import { type AddressEntry, type Entries, offerCount } from "../model/address-offers.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { FactChange } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { findingOverlaps, OfferRanges } from "../model/offer-ranges.ts";
import { haveSamePorts, portCount } from "../model/protocol-lists.ts";
import { entryCost, recordCost, type Work, yieldAfter } from "../work.ts";
import type { Named } from "./decision.ts";
import type { Destination } from "./request.ts";
import { entriesAt, resolveDestination } from "./resolve-destination.ts";

/** The most shared addresses, and resources at each of them, in one answer. */
const mostShared = 20;
/** The most resources at an address that are read for each change. */
const mostRead = 64;

export interface SharedAddress {
  readonly address: string;
  /** The resource in question. */
  readonly resource: Named;
  /**
   * All resources with this address, in the order of creation: the resource in question, and others that offer a common
   * protocol and port. Empty if there are no others. A connection goes to the first resource that offers it.
   */
  readonly resources: readonly Named[];
  /** Other resources that lose the address: it is within their block or wildcard, and the smallest one counts. */
  readonly enclosing: readonly Named[];
}

/** Finds new addresses that other resources have too, or that are within addresses of other resources. */
export function* newlySharedAddresses(
  changes: readonly FactChange[],
  before: Model,
  after: Model,
): Work<readonly SharedAddress[]> {
  const shared: SharedAddress[] = [];
  /** The resources at crowded addresses that share a protocol and port. */
  const meetingAt = new Map<Entries, ReadonlySet<string>>();
  for (const change of changes) {
    if (change.kind !== "resource" || "gone" in change) continue;
    const { id, addresses } = change.facts;
    const resource = after.resources.get(id);
    if (resource === undefined) continue;
    const former = new Map((before.resources.get(id)?.facts.addresses ?? []).map((facts) => [facts.address, facts]));
    for (const address of addresses) {
      yield recordCost + portCount(address.protocols) * entryCost;
      const known = former.get(address.address);
      if (known !== undefined && haveSamePorts(address.protocols, known.protocols)) continue;
      const { same, enclosing } = after.addresses.atAddress(address.address);
      if (same.length > mostRead && !meetingAt.has(same)) meetingAt.set(same, yield* findingOverlaps(same));
      const meetsNone = meetingAt.get(same)?.has(id) === false;
      const resources = meetsNone ? [] : yield* findingSharing(after, resource, same);
      // A resource at the same address had already taken it from the others.
      const losing = same.length > 1 ? [] : namesOf(after, enclosing, id);
      if (resources.length + losing.length === 0) continue;
      shared.push({ address: address.address, resource: resource.named, resources, enclosing: losing });
      if (shared.length === mostShared) return shared;
    }
  }
  return shared;
}

/** Finds the addresses of a destination that several resources have. */
export function* sharedAddressesAt(model: Model, destination: Destination): Work<readonly SharedAddress[]> {
  const { resource } = resolveDestination(model, destination);
  if (resource === undefined) return [];
  const texts =
    destination.kind === "address" ? [destination.address] : resource.facts.addresses.map(({ address }) => address);
  const shared: SharedAddress[] = [];
  for (const address of texts) {
    yield recordCost;
    const same =
      destination.kind === "address" ? (entriesAt(model, address) ?? []) : model.addresses.atAddress(address).same;
    const resources = yield* findingSharing(model, resource, same);
    if (resources.length === 0) continue;
    shared.push({ address, resource: resource.named, resources, enclosing: [] });
    if (shared.length === mostShared) break;
  }
  return shared;
}

/**
 * Finds the first resources at an address that offer a common protocol and port with one of them.
 *
 * @param same all entries at the address, in the order of creation
 */
function* findingSharing(
  model: Model,
  { id }: CompiledResource,
  same: readonly AddressEntry[],
): Work<readonly Named[]> {
  if (same.length < 2) return [];
  let spent = same.length * entryCost;
  const own = same.find(({ resourceId }) => resourceId === id);
  if (own === undefined) return [];
  spent += offerCount(own) * sortedCost;
  const ranges = new OfferRanges(own.offers.flat());
  const sharing: AddressEntry[] = [];
  for (const entry of same) {
    if (spent >= yieldAfter) {
      yield spent;
      spent = 0;
    }
    spent += (1 + offerCount(entry)) * entryCost;
    if (entry === own || ranges.meet(entry.offers.flat())) sharing.push(entry);
    if (sharing.length === mostShared) break;
  }
  yield spent;
  return sharing.length === 1 ? [] : namesOf(model, sharing);
}

/** The cost of sorting an offer. */
const sortedCost = 2 * entryCost;

/** The names of the first resources, without one of them. */
function namesOf(model: Model, entries: readonly AddressEntry[], without?: string): readonly Named[] {
  return entries
    .slice(0, mostShared + 1)
    .filter(({ resourceId }) => resourceId !== without)
    .slice(0, mostShared)
    .flatMap(({ resourceId }) => model.resources.get(resourceId)?.named ?? []);
}
