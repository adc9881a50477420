/** Shares requests to identity providers fairly (docs/decisions/0240-fair-visits-to-providers.md). */
import type { Clock } from "../../platform/clock.ts";
import { FairSlots } from "../../platform/concurrency/fair-slots.ts";
import { SharedReads } from "../../platform/concurrency/shared-reads.ts";
import type { ProviderKeys } from "./logout-token.ts";
import type { CeremonyProvider } from "./provider-ceremonies.ts";
import type { ProviderPages } from "./relying-party.ts";

/** Requests that wait for a provider. Those for the same provider share its answer. */
const waiting = { total: 400, perTenant: 100 };
/** Browsers that return: each leads to several requests to the provider. */
const returns = { total: 200, perTenant: 40 };
/** Retained pages keep starts possible while clients take all slots. */
const retainPagesMs = 60_000;

interface Visit extends CeremonyProvider {
  /** The client's address as it is counted. */
  readonly addressGroup: string;
}

export class ProviderVisits {
  readonly #starts = new FairSlots(waiting);
  readonly #returns = new FairSlots(returns);
  readonly #logouts = new FairSlots(waiting);
  readonly #pages: SharedReads<ProviderPages>;
  readonly #keys: SharedReads<ProviderKeys>;

  constructor(clock: Clock) {
    this.#pages = new SharedReads({ clock, retainMs: retainPagesMs, capacity: 1_000 });
    this.#keys = new SharedReads({ clock, retainMs: 0, capacity: 0 });
  }

  /** Reads the pages of a provider. If no slot is free, pages that were read recently are used. */
  async readPages(visit: Visit, read: () => Promise<ProviderPages>): Promise<ProviderPages | "busy"> {
    const name = nameOf(visit);
    const pages = await this.readFreshPages(visit, () => this.#pages.read(name, read));
    return pages === "busy" ? (this.#pages.retained(name) ?? pages) : pages;
  }

  readFreshPages(
    { tenantId, addressGroup }: Omit<Visit, "version">,
    read: () => Promise<ProviderPages>,
  ): Promise<ProviderPages | "busy"> {
    return this.#starts.run(tenantId, addressGroup, read);
  }

  /** Finishes a sign-in. The slots are not those of starts, because the person has authenticated. */
  finish<T>({ tenantId, addressGroup }: Omit<Visit, "version">, finish: () => Promise<T>): Promise<T | "busy"> {
    return this.#returns.run(tenantId, addressGroup, finish);
  }

  logOut<T>({ tenantId, addressGroup }: Omit<Visit, "version">, logOut: () => Promise<T>): Promise<T | "busy"> {
    return this.#logouts.run(tenantId, addressGroup, logOut);
  }

  /** Keys are not retained: a key that the provider withdrew must not end sessions. */
  readKeys(provider: CeremonyProvider, read: () => Promise<ProviderKeys>): Promise<ProviderKeys> {
    return this.#keys.read(nameOf(provider), read);
  }
}

function nameOf({ tenantId, providerId, version }: CeremonyProvider): string {
  return `${tenantId} ${providerId} ${version}`;
}
