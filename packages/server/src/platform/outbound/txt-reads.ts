/** Shares lookups of TXT records fairly (docs/decisions/0262-shares-and-limits-of-mails.md). */
import type { Clock } from "../clock.ts";
import { FairSlots } from "../concurrency/fair-slots.ts";
import { SharedReads } from "../concurrency/shared-reads.ts";
import type { ResolveTxt } from "./resolve-txt.ts";

/** Requests that wait for DNS. Those for the same name share its answer. */
const waiting = { total: 200, perTenant: 16 };

export class TxtReads {
  readonly #resolve: ResolveTxt;
  readonly #slots = new FairSlots(waiting);
  readonly #reads: SharedReads<readonly string[]>;

  constructor(resolve: ResolveTxt, clock: Clock) {
    this.#resolve = resolve;
    // Answers are not retained: a person publishes a record and asks again.
    this.#reads = new SharedReads({ clock, retainMs: 0, capacity: 0 });
  }

  /**
   * Reads the values of the TXT records of a name.
   *
   * @param address of the client, as it is counted, such as a /64
   * @returns "busy" if too many requests of the tenant or the address wait for DNS
   */
  read(tenantId: string, address: string, name: string): Promise<readonly string[] | "busy"> {
    return this.#slots.run(tenantId, address, () => this.#reads.read(name, () => this.#resolve(name)));
  }
}
