/** What people do at their devices, and what becomes of it. */
import { expect } from "vitest";
import { until } from "../../packages/server/src/testing/until.ts";
import type { NetworkDevice } from "./network-device.ts";
import { ports } from "./targets.ts";

/** How many pieces of a running download tell that time has passed: it brings one each 20 ms. */
const pieces = 25;
const pieceBytes = 64;

interface Progress {
  /** The address that the target sees. */
  readonly via?: string;
  readonly bytes: number;
  readonly isWhole: boolean;
}

/** Bytes that come one after the other, over one TCP connection. */
export class Download {
  readonly #device: NetworkDevice;
  readonly #stream: string;

  private constructor(device: NetworkDevice, stream: string) {
    this.#device = device;
    this.#stream = stream;
  }

  /** @param count of pieces, 50 a second; 0: no end */
  static async begin(device: NetworkDevice, host: string, count = 0): Promise<Download> {
    const stream = `${host} ${Math.random()}`;
    await until("a download begins", () => device.prober.ask("download", order(stream, host, count)), 30_000);
    return new Download(device, stream);
  }

  progress(): Promise<Progress> {
    return this.#device.prober.ask<Progress>("progress", { stream: this.#stream });
  }

  /** Comes back once it has brought so much more. */
  async goesOn(): Promise<void> {
    const { bytes } = await this.progress();
    const enough = bytes + pieces * pieceBytes;
    await until("a download goes on", async () => (await this.progress()).bytes >= enough);
  }

  async end(): Promise<void> {
    await this.#device.prober.ask("close", { stream: this.#stream });
  }
}

/** Nothing of the one arrives any more, for as long as it takes the other, which goes on, to bring half a second's worth. */
export async function expectCut(cut: Download, running: Download): Promise<void> {
  await until("a download stops", async () => {
    const { bytes } = await cut.progress();
    await running.goesOn();
    return (await cut.progress()).bytes === bytes;
  });
  expect((await cut.progress()).isWhole).toBe(false);
}

/** From which address a target sees a new connection of this device come; null: it sees none. */
export function via(device: NetworkDevice, host: string): Promise<string | null> {
  return device.prober.ask<string | null>("via", { host, port: ports.downloads });
}

export type Probe = readonly [order: "tcp" | "udp" | "ping", host: string, port?: number | undefined];

/** Which of these are answered. */
export async function answered(device: NetworkDevice, probes: readonly Probe[]): Promise<readonly Probe[]> {
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
