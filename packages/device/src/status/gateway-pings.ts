import { type MeasureRoundTrip, measureRoundTrip } from "@gatehouse/agent-core/dns/round-trip";

/** Measurements of a gateway are this far apart at least. */
const intervalMs = 5_000;
const mostGateways = 32;

/** Round-trip times to gateways, measured on request, at most every five seconds for each gateway. */
export class GatewayPings {
  readonly #measure: MeasureRoundTrip;
  readonly #now: () => number;
  readonly #measured = new Map<string, { readonly at: number; readonly answer: Promise<number | undefined> }>();

  /** @param now a clock that is never set, in milliseconds */
  constructor(measure: MeasureRoundTrip = measureRoundTrip, now: () => number = () => performance.now()) {
    this.#measure = measure;
    this.#now = now;
  }

  /**
   * Returns the round-trip time to the first gateways, measured in the last five seconds.
   *
   * @param addresses the tunnel address of each gateway
   */
  async of(addresses: readonly string[]): Promise<ReadonlyMap<string, number | undefined>> {
    for (const known of this.#measured.keys()) if (!addresses.includes(known)) this.#measured.delete(known);
    const measured = addresses
      .slice(0, mostGateways)
      .map(async (address) => [address, await this.#ping(address)] as const);
    return new Map(await Promise.all(measured));
  }

  #ping(address: string): Promise<number | undefined> {
    const now = this.#now();
    const known = this.#measured.get(address);
    if (known !== undefined && now - known.at < intervalMs) return known.answer;
    const answer = this.#measure(address);
    this.#measured.set(address, { at: now, answer });
    return answer;
  }
}
