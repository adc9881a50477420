import type { Entries } from "../model/address-offers.ts";
import type { CompiledResource } from "../model/compiled-resource.ts";
import type { Model } from "../model/model.ts";
import { entryCost, recordCost, type Work } from "../work.ts";
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

/** The diverted addresses of a destination. */
export interface DivertedAddresses {
  /** The first of these addresses. */
  readonly listed: readonly DivertedAddress[];
  /** Whether the destination has addresses and all of them are diverted. */
  readonly isEverywhere: boolean;
}

/** Decides another request. */
export type Decide = (request: AccessRequest) => Work<Decision>;

const none: DivertedAddresses = { listed: [], isEverywhere: false };

/**
 * Finds the addresses of an allowed destination that are diverted for the subject. An address is omitted if its gateway
 * depends on more resources than one answer decides.
 *
 * @param request the request that was decided
 * @param decision the decision about it
 * @returns no addresses for a denied request
 */
export function* findingDivertedAddresses(
  model: Model,
  request: AccessRequest,
  decision: Decision,
  decide: Decide,
): Work<DivertedAddresses> {
  const resource = model.resources.get(decision.resource?.id ?? "");
  if (resource === undefined || !decision.allowed) return none;
  if (request.subject.kind === "site" || decision.gateways.length === 0) return none;
  const reached = new ReachedGateways(request, decide);
  reached.set(resource, decision.gateways);
  const listed: DivertedAddress[] = [];
  let examined = 0;
  let diverted = 0;
  for (const [address, entries] of addressesOf(model, request, resource)) {
    yield recordCost;
    examined += 1;
    const routedFor = yield* reached.divertingAt(model, resource, entries);
    if (routedFor !== undefined) {
      diverted += 1;
      if (listed.length < mostDiverted) listed.push({ address, routedFor });
    }
    // Further addresses change nothing.
    if (diverted < examined && listed.length === mostDiverted) break;
  }
  return { listed, isEverywhere: examined > 0 && diverted === examined };
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

  /**
   * Returns the resource that determines the gateway, if this gateway does not carry the given resource. Returns
   * undefined if that depends on a resource that is not decided. The limit of decisions therefore also bounds the
   * number of entries that are read.
   */
  *divertingAt(model: Model, { id }: CompiledResource, entries: Entries): Work<Named | undefined> {
    let first: Named | undefined;
    let common: GatewaySet | undefined;
    let unpaid = 0;
    // Resources that were created later have no influence.
    for (const { resourceId } of entries) {
      unpaid += entryCost;
      const resource = model.resources.get(resourceId);
      if (resource === undefined) continue;
      if (!(yield* this.#isDecided(resource))) break;
      const own = this.#sets.get(resourceId);
      if (own === undefined) continue;
      const next = common === undefined ? own : commonGateways(common, own);
      if (resourceId === id) {
        yield unpaid;
        return next === undefined ? first : undefined;
      }
      first ??= resource.named;
      common = next ?? common;
    }
    yield unpaid;
    return undefined;
  }

  /** Decides a resource, unless the limit is reached. */
  *#isDecided(resource: CompiledResource): Work<boolean> {
    const { id } = resource;
    if (this.#sets.has(id)) return true;
    if (this.#sets.size > mostDecided) return false;
    const decision = yield* this.#decide({ ...this.#request, destination: { kind: "resource", resourceId: id } });
    this.set(resource, decision.gateways);
    return true;
  }
}
