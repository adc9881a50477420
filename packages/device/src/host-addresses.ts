import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { Clock } from "@gatehouse/agent-core/clock";

/** An answer is used for so long, in milliseconds. */
const freshMs = 60_000;
/** Nobody waits longer than this for one, in milliseconds: what was known before goes on counting. */
const patienceMs = 3_000;

export type LookUp = (host: string) => Promise<readonly string[]>;

const systemLookUp: LookUp = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** The addresses of the hosts that a tunnel depends on. What was known stays known while nobody answers. */
export class HostAddresses {
  readonly #clock: Clock;
  readonly #lookUp: LookUp;
  readonly #known = new Map<string, { addresses: readonly string[]; readonly at: number }>();

  constructor(clock: Clock, lookUp = systemLookUp) {
    this.#clock = clock;
    this.#lookUp = lookUp;
  }

  /** @returns none where they are not known */
  async of(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    const known = this.#known.get(host);
    // Older than nothing where the clock was set back.
    const age = known === undefined ? Number.POSITIVE_INFINITY : this.#clock.now() - known.at;
    if (known !== undefined && age >= 0 && age < freshMs) return known.addresses;
    const entry = { addresses: known?.addresses ?? [], at: this.#clock.now() };
    this.#known.set(host, entry);
    const asked = this.#lookUp(host).then(
      (addresses) => {
        // The same one as before where it still is one: a session stays where it is.
        const before = entry.addresses[0];
        entry.addresses =
          before !== undefined && addresses.includes(before)
            ? [before, ...addresses.filter((address) => address !== before)]
            : addresses;
      },
      () => {},
    );
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(patienceMs, resolve);
      void asked.finally(() => {
        cancel();
        resolve();
      });
    });
    return entry.addresses;
  }
}

/** @returns host and port of `host:port`, IPv6 in brackets */
export function hostAndPort(endpoint: string): { readonly host: string; readonly port: number } {
  const [, host = "", port = "0"] = /^\[?(.+?)\]?:([0-9]+)$/.exec(endpoint) ?? [];
  return { host, port: Number(port) };
}
