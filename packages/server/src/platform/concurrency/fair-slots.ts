/** A limited number of slots, shared fairly by tenants and client addresses. */
export interface FairSlotsOptions {
  /** The number of slots. */
  readonly total: number;
  /** The most slots of one tenant. */
  readonly perTenant: number;
}

/**
 * A newcomer gets a slot only while its tenant and its address have fewer slots than remain free. One address thus
 * takes at most half of the slots, whether of the replica or of a tenant.
 */
export class FairSlots {
  readonly #options: FairSlotsOptions;
  #taken = 0;
  readonly #ofTenant = new Counts();
  readonly #ofAddress = new Counts();
  readonly #ofAddressInTenant = new Counts();

  constructor(options: FairSlotsOptions) {
    this.#options = options;
  }

  /**
   * Runs the task in a slot.
   *
   * @param address as it is counted, such as a /64
   * @returns "busy" if no slot is free for the tenant and the address
   */
  async run<T>(tenantId: string, address: string, task: () => Promise<T>): Promise<T | "busy"> {
    const both = `${tenantId} ${address}`;
    const free = this.#options.total - this.#taken;
    const freeOfTenant = this.#options.perTenant - this.#ofTenant.read(tenantId);
    const isFree =
      this.#ofTenant.read(tenantId) < free &&
      this.#ofAddress.read(address) < free &&
      this.#ofAddressInTenant.read(both) < freeOfTenant;
    if (!isFree) return "busy";
    this.#count(tenantId, address, both, 1);
    try {
      return await task();
    } finally {
      this.#count(tenantId, address, both, -1);
    }
  }

  #count(tenantId: string, address: string, both: string, change: 1 | -1): void {
    this.#taken += change;
    this.#ofTenant.add(tenantId, change);
    this.#ofAddress.add(address, change);
    this.#ofAddressInTenant.add(both, change);
  }
}

/** Counts that are above zero. */
class Counts {
  readonly #counts = new Map<string, number>();

  read(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, change: 1 | -1): void {
    const count = this.read(name) + change;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}
