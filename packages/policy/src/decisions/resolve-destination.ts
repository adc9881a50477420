import { parseAddressText } from "@gatehouse/addresses/address-text";
import { type AddressEntry, isOffered } from "../model/address-directory.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import type { DecisionReason } from "./decision.ts";
import type { Destination } from "./request.ts";

/** What a destination stands for: a resource, or none of them; or why it can be nothing that anyone may reach. */
export type ResolvedDestination =
  | { readonly resource: CompiledResource | undefined; readonly denied?: undefined }
  | { readonly resource?: CompiledResource; readonly denied: DecisionReason };

const unknown: ResolvedDestination = { denied: "unknown_resource" };
const nothing: ResolvedDestination = { resource: undefined };

/** Finds the resource that a destination stands for (contract, "Policy evaluation", step 2). */
export function resolveDestination(model: Model, destination: Destination): ResolvedDestination {
  if (destination.kind === "resource") {
    const resource = model.resources.get(destination.resourceId);
    return resource === undefined ? unknown : { resource };
  }
  const { address, protocol, port } = destination;
  const entries = entriesOf(model, address);
  if (entries === undefined) return { denied: "invalid_address" };
  const candidates = entries.flatMap((entry) => {
    const resource = model.resources.get(entry.resourceId);
    return resource === undefined ? [] : [{ resource, offered: isOffered(entry, protocol, port) }];
  });
  // Entries are in order of creation.
  const offering = candidates.find(({ offered }) => offered);
  if (offering !== undefined) return offering;
  // The address is of something private: whatever it does not offer is closed, not left to the internet.
  const kept = candidates.find(({ resource }) => resource.facts.type !== "INTERNET");
  return kept === undefined ? nothing : { resource: kept.resource, denied: "protocol_not_offered" };
}

/** Of the most specific address alone; undefined for a text that names no single host. */
function entriesOf(model: Model, text: string): readonly AddressEntry[] | undefined {
  const reading = parseAddressText(text);
  if (!reading.ok) return undefined;
  const { value } = reading;
  if (value.kind === "ip") return model.addresses.ofIp({ version: value.range.version, bits: value.range.first });
  return value.kind === "host" ? model.addresses.ofHost(value.text) : undefined;
}
