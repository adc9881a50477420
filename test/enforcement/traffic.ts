/** Traffic of people at their devices, and its outcome. */
import { expect } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import type { Prober } from "./namespaces.ts";
import { ports } from "./targets.ts";

/** The number of pieces of a running download that proves that time has passed. A piece arrives every 20 ms. */
const pieces = 25;
const pieceBytes = 64;

/** A machine that sends and receives. */
type Sender = { readonly prober: Prober };

interface Progress {
  /** The source address that the target sees. */
  readonly via?: string;
  readonly bytes: number;
  /** When the last bytes came, in milliseconds since 1970. */
  readonly lastAt?: number;
  readonly isWhole: boolean;
}

/** A running download over one TCP connection. */
export class Download {
  readonly #device: Sender;
  readonly #stream: string;

  private constructor(device: Sender, stream: string) {
    this.#device = device;
    this.#stream = stream;
  }

  /** @param count of pieces, 50 a second; 0: no end */
  static async begin(device: Sender, host: string, count = 0): Promise<Download> {
    const stream = `${host} ${Math.random()}`;
    await until("a download begins", () => device.prober.ask("download", order(stream, host, count)), 30_000);
    return new Download(device, stream);
  }

  progress(): Promise<Progress> {
    return this.#device.prober.ask<Progress>("progress", { stream: this.#stream });
  }

  /** Returns once the download has received this many more bytes. */
  async goesOn(): Promise<void> {
    const { bytes } = await this.progress();
    const enough = bytes + pieces * pieceBytes;
    await until("a download goes on", async () => (await this.progress()).bytes >= enough);
  }

  async end(): Promise<void> {
    await this.#device.prober.ask("close", { stream: this.#stream });
  }
}

/** Expects that one download receives nothing while the other, which continues, receives half a second's worth. */
export async function expectCut(cut: Download, running: Download): Promise<void> {
  await until("a download stops", async () => {
    const { bytes } = await cut.progress();
    await running.goesOn();
    return (await cut.progress()).bytes === bytes;
  });
  expect((await cut.progress()).isWhole).toBe(false);
}

/** Returns the source address that a target sees for a new connection of this device; null: it sees none. */
export function via(device: Sender, host: string): Promise<string | null> {
  return device.prober.ask<string | null>("via", { host, port: ports.downloads });
}

export type Probe = readonly [order: "tcp" | "udp" | "ping", host: string, port?: number | undefined];

/** Returns the probes that are answered. */
export async function answered(device: Sender, probes: readonly Probe[]): Promise<readonly Probe[]> {
  const results = await Promise.all(
    probes.map(async (probe) => {
      const [order, host, port] = probe;
      return (await device.prober.ask(order, { host, port })) ? [probe] : [];
    }),
  );
  return results.flat();
}

function order(stream: string, host: string, count: number): object {
  return { stream, host, port: ports.downloads, pieces: count };
}
