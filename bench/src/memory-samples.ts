/** The parts of a server's memory, sampled while loads run. */
import { setTimeout as pause } from "node:timers/promises";

const intervalMs = 200;

export class MemorySamples {
  readonly #url: string;
  #highest: Readonly<Record<string, number>> = { rss: 0 };
  #isStopped = false;
  readonly #sampling: Promise<void>;

  /** @param controls the address of the server's measurements, see server-process.ts */
  constructor(controls: string) {
    this.#url = `${controls}/memory`;
    this.#sampling = this.#sample();
  }

  /** The parts of the sample with the most memory since the last call. */
  takeHighest(): string {
    const highest = format(this.#highest);
    this.#highest = { rss: 0 };
    return highest;
  }

  async now(): Promise<string> {
    return format(await this.#read());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#sampling;
  }

  async #sample(): Promise<void> {
    while (!this.#isStopped) {
      await this.#read();
      await pause(intervalMs);
    }
  }

  async #read(): Promise<Readonly<Record<string, number>>> {
    const parts = (await (await fetch(this.#url)).json()) as Readonly<Record<string, number>>; // as the server writes it
    if ((parts.rss ?? 0) > (this.#highest.rss ?? 0)) this.#highest = parts;
    return parts;
  }
}

function format(parts: Readonly<Record<string, number>>): string {
  return Object.entries(parts)
    .filter(([, mebibytes]) => mebibytes > 0)
    .map(([name, mebibytes]) => `${name} ${mebibytes}`)
    .join(", ");
}
