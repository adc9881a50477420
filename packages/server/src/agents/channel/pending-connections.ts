import { parseIpAddress } from "@gatehouse/addresses/ip-address";
import { groupBy } from "../../platform/group-by.ts";
import type { PresentedAgent } from "./agent-connection.ts";

export interface PendingLimits {
  /** The most connections of one token from one address that have not been admitted. */
  readonly pendingPerToken: number;
  /** The most connections from one address that have not been admitted. */
  readonly pendingPerAddress: number;
}

/** The limit of a token over all addresses, as a multiple of its limit per address. */
const addressesPerToken = 4;
/** Agents are usually admitted within this time, even over slow networks, in milliseconds. */
const usualAdmissionMs = 1_000;

interface Pending {
  readonly agent: PresentedAgent;
  readonly sourceAddress: string;
  /** The time by `clock.elapsedMs()`. */
  readonly openedAt: number;
}

/**
 * Open connections whose agents have not been admitted. An agent is admitted within two round trips, so the oldest
 * connection is the least likely to belong to the agent. Other clients with the agent's token or address must not lock
 * the agent out.
 */
export class PendingConnections<Connection extends Pending> {
  readonly #limits: PendingLimits;
  readonly #all = new Set<Connection>();
  /** The same connections by token, by address and by tenant, the oldest first. */
  readonly #groups = new Map<string, Set<Connection>>();

  constructor(limits: PendingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): IterableIterator<Connection> {
    return this.#all.values();
  }

  ofTenant(tenantId: string): number {
    return this.#groups.get(tenantKey(tenantId))?.size ?? 0;
  }

  /**
   * Finds a connection that has to end before another one can be added.
   *
   * @returns the other one itself if it has to be refused; undefined if there is room
   */
  tooMuchFor(connection: Connection): Connection | undefined {
    const { pendingPerToken, pendingPerAddress } = this.#limits;
    const ofToken = this.#group(tokenKey(connection));
    const here = ofToken.filter((other) => addressKey(other) === addressKey(connection));
    if (here.length >= pendingPerToken) return here[0];
    if (ofToken.length >= pendingPerToken * addressesPerToken) return ofToken[0];
    const atAddress = this.#group(addressKey(connection));
    if (atAddress.length < pendingPerAddress) return undefined;
    // The tenant with the most connections loses one, of its token with the most. No tenant locks out another one.
    const all = [...atAddress, connection];
    const ofOneTenant = largestGroup(all, tenantOf);
    const ofOneToken = largestGroup(ofOneTenant, tokenKey);
    const [oldest = connection] = ofOneToken;
    const ownTenant = all.filter((other) => tenantOf(other) === tenantOf(connection));
    const hasMore = ofOneTenant.length > ownTenant.length || ofOneToken.length > here.length + 1;
    // Agents that reconnect at once must not end each other's connections: the address is busy, not attacked.
    const isOverdue = connection.openedAt - oldest.openedAt > usualAdmissionMs;
    return hasMore || isOverdue ? oldest : connection;
  }

  add(connection: Connection): void {
    this.#all.add(connection);
    for (const key of keysOf(connection)) {
      this.#groups.set(key, (this.#groups.get(key) ?? new Set<Connection>()).add(connection));
    }
  }

  delete(connection: Connection): void {
    if (!this.#all.delete(connection)) return;
    for (const key of keysOf(connection)) {
      const group = this.#groups.get(key);
      group?.delete(connection);
      if (group?.size === 0) this.#groups.delete(key);
    }
  }

  clear(): void {
    this.#all.clear();
    this.#groups.clear();
  }

  #group(key: string): readonly Connection[] {
    return [...(this.#groups.get(key) ?? [])];
  }
}

function keysOf(connection: Pending): readonly string[] {
  return [tokenKey(connection), addressKey(connection), tenantKey(tenantOf(connection))];
}

function tenantOf({ agent }: Pending): string {
  return agent.tenantId;
}

function tokenKey({ agent }: Pending): string {
  return `token ${agent.tokenHash}`;
}

/** The group of an IPv6 address is its /64, the smallest block that is assigned to a customer. */
function addressKey({ sourceAddress }: Pending): string {
  const address = parseIpAddress(sourceAddress);
  return `address ${address?.version === 6 ? `${(address.bits >> 64n).toString(16)}::/64` : sourceAddress}`;
}

function tenantKey(tenantId: string): string {
  return `tenant ${tenantId}`;
}

/** Returns the largest group of items with the same key, in their order. */
function largestGroup<Item>(items: readonly Item[], keyOf: (item: Item) => string): readonly Item[] {
  return [...groupBy(items, keyOf).values()].reduce((one, other) => (other.length > one.length ? other : one), []);
}
