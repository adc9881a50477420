import type { Entries } from "../model/address-offers.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { recordCost, type Work } from "../work.ts";
import { commonGateways, GatewayBits, type GatewaySet } from "./common-gateways.ts";
import type { Decision, Named } from "./decision.ts";
import type { AccessRequest } from "./request.ts";
import { entriesAt } from "./resolve-destination.ts";

/** The most addresses in one answer. */
const mostDiverted = 20;
/** The most other resources that are decided for one answer. */
const mostDecided = 64;

/**
 * An address of a resource whose packets devices send to a gateway that does not carry the resource. Another resource
 * has the address too, and determines the gateway.
 */
export interface DivertedAddress {
  readonly address: string;
  readonly routedFor: Named;
}

/** Decides another request. */
export type Decide = (request: AccessRequest) => Work<Decision>;

/**
 * Finds the addresses of an allowed destination that are diverted for the subject.
 *
 * @param request the request that was allowed
 * @param decision the decision about it
 */
export function* findingDivertedAddresses(
  model: Model,
  request: AccessRequest,
  decision: Decision,
  decide: Decide,
): Work<readonly DivertedAddress[]> {
  const resource = model.resources.get(decision.resource?.id ?? "");
  if (resource === undefined || request.subject.kind === "site" || decision.gateways.length === 0) return [];
  const reached = new ReachedGateways(request, decide);
  reached.set(resource, decision.gateways);
  const diverted: DivertedAddress[] = [];
  for (const [address, entries] of addressesOf(model, request, resource)) {
    yield recordCost;
    const routedFor = yield* reached.divertingAt(model, resource, entries);
    if (routedFor !== undefined) diverted.push({ address, routedFor });
    if (diverted.length === mostDiverted) break;
  }
  return diverted;
}

/** The number of addresses that `findingDivertedAddresses` examines. */
export function examinedAddresses({ destination }: AccessRequest, { facts }: CompiledResource): number {
  return destination.kind === "address" ? 1 : facts.addresses.length;
}

function* addressesOf(
  model: Model,
  { destination }: AccessRequest,
  { facts }: CompiledResource,
): Iterable<readonly [address: string, entries: Entries]> {
  if (destination.kind === "address") {
    yield [destination.address, entriesAt(model, destination.address) ?? []];
    return;
  }
  for (const { address } of facts.addresses) yield [address, model.addresses.atAddress(address).same];
}

/** The gateways through which the subject may reach resources now. Each resource is decided once. */
class ReachedGateways {
  readonly #request: AccessRequest;
  readonly #decide: Decide;
  readonly #bits = new GatewayBits();
  /** The gateways of each decided resource, by id. Undefined without a gateway. */
  readonly #sets = new Map<string, GatewaySet | undefined>();

  constructor(request: AccessRequest, decide: Decide) {
    this.#request = request;
    this.#decide = decide;
  }

  set({ id }: CompiledResource, gateways: readonly string[]): void {
    this.#sets.set(id, gateways.length === 0 ? undefined : this.#bits.setOf(this.#bits.listOf(gateways)));
  }

  /** Returns the resource that determines the gateway, if this gateway does not carry the given resource. */
  *divertingAt(model: Model, { id }: CompiledResource, entries: Entries): Work<Named | undefined> {
    let first: Named | undefined;
    let common: GatewaySet | undefined;
    // Resources that were created later have no influence.
    for (const { resourceId } of entries) {
      const resource = model.resources.get(resourceId);
      const own = resource === undefined ? undefined : yield* this.#of(resource);
      if (resource === undefined || own === undefined) continue;
      const next = common === undefined ? own : commonGateways(common, own);
      if (resourceId === id) return next === undefined ? first : undefined;
      first ??= resource.named;
      common = next ?? common;
    }
    return undefined;
  }

  *#of(resource: CompiledResource): Work<GatewaySet | undefined> {
    const { id } = resource;
    if (!this.#sets.has(id) && this.#sets.size <= mostDecided) {
      const decision = yield* this.#decide({ ...this.#request, destination: { kind: "resource", resourceId: id } });
      this.set(resource, decision.gateways);
    }
    return this.#sets.get(id);
  }
}
