/**
 * Changes the tunnel, one change at a time, and adapts it to the network that the machine is in. No change needs an
 * answer to a DNS question, so questions can wait for changes.
 */
import { SerialQueue } from "@gatehouse/agent-core/serial-queue";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { DrainingGateways, type DrainingParts } from "./draining-gateways.ts";
import { KnownNetwork, type LocalNetwork, type ReadLocalNetwork, unknownNetwork } from "./local-network.ts";
import type { PathSelection } from "./path-selection.ts";
import type { Tunnel } from "./tunnel.ts";
import { type TunnelInputs, type WantedTunnel, wantedTunnel } from "./wanted-tunnel.ts";

export interface TunnelChangeParts extends DrainingParts {
  readonly tunnel: Pick<Tunnel, "apply" | "remove" | "livePeers">;
  /** Reads the network of the machine; if absent, the network is unknown. */
  readonly localNetwork?: ReadLocalNetwork | undefined;
}

/** The inputs of a tunnel, except the network. */
interface TunnelBasis {
  readonly content: DeviceConfiguration;
  readonly inputs: Omit<TunnelInputs, "local">;
}

type Selections = ReadonlyMap<string, PathSelection>;

export class TunnelChanges {
  readonly #tunnel: TunnelChangeParts["tunnel"];
  readonly #queue = new SerialQueue();
  readonly #draining: DrainingGateways;
  readonly #network: KnownNetwork;
  /** The tunnel that was applied last, and its basis. */
  #applied: { readonly wanted: WantedTunnel; readonly basis: TunnelBasis } | undefined;
  /** The reading of the network that has not started yet. */
  #nextReading: Promise<boolean> | undefined;

  constructor(parts: TunnelChangeParts) {
    this.#tunnel = parts.tunnel;
    this.#draining = new DrainingGateways(parts);
    this.#network = new KnownNetwork(parts.localNetwork ?? (async () => unknownNetwork), parts.log);
  }

  /** The configuration of the tunnel that was applied last. */
  get configuration(): DeviceConfiguration | undefined {
    return this.#applied?.basis.content;
  }

  /** The network that was read last. */
  get network(): LocalNetwork {
    return this.#network.current;
  }

  /**
   * Applies a configuration to the machine.
   *
   * @param selections the path selections before the change, by the gateway's public key
   */
  apply(content: DeviceConfiguration, inputs: TunnelBasis["inputs"], selections: Selections): Promise<void> {
    return this.#queue.run(() => this.#apply({ content, inputs }, selections));
  }

  /** Removes the tunnel and the drain tunnel, even if one of them fails. @throws Error if one failed */
  remove(): Promise<void> {
    return this.#queue.run(async () => {
      this.#applied = undefined;
      const results = await Promise.allSettled([this.#tunnel.remove(), this.#draining.remove()]);
      for (const result of results) if (result.status === "rejected") throw result.reason;
    });
  }

  /** Removes the drain tunnel, including the one that an earlier run left. */
  removeDraining(): Promise<void> {
    return this.#queue.run(() => this.#draining.remove());
  }

  /** Ends the draining of gateways that no longer answer, or whose time is over. */
  endSilent(): Promise<void> {
    return this.#queue.run(async () => {
      if (this.#applied !== undefined) await this.#draining.endSilent(this.#applied.wanted);
    });
  }

  /**
   * Reads the network again, and adapts the tunnel to a new one. Calls that wait for the queue share one reading.
   *
   * @returns whether the network is a new one
   * @throws Error if the machine refused the change. The next call tries it again
   */
  followNetwork(): Promise<boolean> {
    this.#nextReading ??= this.#queue.run(() => {
      this.#nextReading = undefined;
      return this.#network.update(async () => {
        // Gateways have the same peers in each network, so none starts to drain.
        if (this.#applied !== undefined) await this.#apply(this.#applied.basis, new Map());
      });
    });
    return this.#nextReading;
  }

  /** Resolves when no name captures these resolvers. @returns whether they belong to a new network */
  async useResolvers(resolvers: readonly string[]): Promise<boolean> {
    return !this.#network.hasResolvers(resolvers) && (await this.followNetwork());
  }

  async #apply(basis: TunnelBasis, selections: Selections): Promise<void> {
    const local = this.#network.current;
    const wanted = wantedTunnel(basis.content, { ...basis.inputs, local });
    await this.#draining.duringChange({ applied: this.#applied?.wanted, wanted, selections }, async () => {
      await this.#tunnel.apply(wanted);
      this.#applied = { wanted, basis };
      this.#network.followed(local);
    });
  }
}
