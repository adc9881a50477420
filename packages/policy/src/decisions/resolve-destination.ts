import { parseAddressText } from "@gatehouse/addresses/address-text";
import { type Entries, isOffered, OfferIndex } from "../model/address-offers.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { DecisionReason } from "./decision.ts";
import type { Destination } from "./request.ts";

/**
 * The resource to which a destination resolves, undefined for an address of no resource, or the reason for a denial.
 */
export type ResolvedDestination =
  | { readonly resource: CompiledResource | undefined; readonly denied?: undefined }
  | { readonly resource?: CompiledResource; readonly denied: DecisionReason };

const unknown: ResolvedDestination = { denied: "unknown_resource" };
const nothing: ResolvedDestination = { resource: undefined };

/** Finds the resource to which a destination resolves (contract, "Policy evaluation", step 2). */
export function resolveDestination(model: Model, destination: Destination): ResolvedDestination {
  if (destination.kind === "resource") {
    const resource = model.resources.get(destination.resourceId);
    return resource === undefined ? unknown : { resource };
  }
  const { address, protocol, port } = destination;
  const entries = entriesAt(model, address);
  if (entries === undefined) return { denied: "invalid_address" };
  let closed: CompiledResource | undefined;
  // Entries are in the order in which their resources were created. Many resources can have one address, so only those
  // that count are read. If there are many, an index finds the first one that offers the port.
  const index = protocol === undefined ? undefined : OfferIndex.of(entries);
  const first = protocol === undefined ? undefined : index?.firstOffering(protocol, port);
  for (const [position, entry] of entries.entries()) {
    const offered = index === undefined ? isOffered(entry, protocol, port) : position === first;
    if (!offered && (closed !== undefined || first !== undefined)) continue;
    const resource = model.resources.get(entry.resourceId);
    if (resource === undefined) continue;
    if (offered) return { resource };
    // A private address is closed for everything that it does not offer. It is not left to the internet.
    if (resource.type !== "INTERNET") closed = resource;
    if (index !== undefined && closed !== undefined) break;
  }
  return closed === undefined ? nothing : { resource: closed, denied: "protocol_not_offered" };
}

/** The entries of the most specific address. Undefined if the text is not a single host. */
export function entriesAt(model: Model, text: string): Entries | undefined {
  const reading = parseAddressText(text);
  if (!reading.ok) return undefined;
  const { value } = reading;
  if (value.kind === "ip") return model.addresses.ofIp({ version: value.range.version, bits: value.range.first });
  return value.kind === "host" ? model.addresses.ofHost(value.text) : undefined;
}
