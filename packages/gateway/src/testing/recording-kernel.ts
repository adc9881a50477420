import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";

import type { NftState } from "../enforcement/nft-state.ts";
import type { PartRepair, TunnelPart } from "../enforcement/tunnel-parts.ts";

/** A kernel that only records filters and tunnel. */
export class RecordingKernel {
  /** Undefined: there are none, or another program removed them. */
  filters: NftState | undefined;
  /** Undefined if the interface does not exist. */
  content: ConfigurationContent | undefined;
  /** The error of the next tunnel change, after a part was applied. */
  refusal: string | undefined;
  /** The changes in order. */
  readonly changes: ("filters" | "tunnel" | "connections")[] = [];

  async filter(state: NftState): Promise<void> {
    if (state === this.filters) return;
    this.changes.push("filters");
    this.filters = state;
  }

  async checkFilters(): Promise<void> {}

  async forward(): Promise<void> {}

  async hasFilters(): Promise<boolean> {
    return this.filters !== undefined;
  }

  async usedNames(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  async tunnel(content: ConfigurationContent): Promise<void> {
    const { refusal } = this;
    this.refusal = undefined;
    this.changes.push("tunnel");
    this.content = content;
    if (refusal !== undefined) throw new Error(refusal);
  }

  /** The parts of the tunnel that another program changed, apart from a removed interface. */
  changedParts: readonly TunnelPart[] = [];

  /** Why parts of the tunnel cannot be restored. */
  problems: Partial<Record<TunnelPart, string>> = {};

  readonly hasIpv6 = true;

  /** The interface of another gateway agent that has the route to devices. */
  rival: string | undefined;

  async otherGateway(): Promise<string | undefined> {
    return this.rival;
  }

  async endConnections(): Promise<void> {
    this.changes.push("connections");
  }

  async *repairTunnel(content: ConfigurationContent): AsyncGenerator<PartRepair> {
    const [isRemoved, repaired] = [this.content === undefined, this.changedParts];
    this.changedParts = [];
    if (isRemoved) yield { part: "interface" };
    else yield* repaired.map((part) => ({ part }));
    for (const [part, problem] of Object.entries(this.problems)) yield { part: part as TunnelPart, problem };
    this.content = content;
  }

  /** The interface of the same machine. */
  readonly wireGuard = {
    name: "gh0",
    exists: async (): Promise<boolean> => this.content !== undefined,
    livePeers: async (): Promise<ReadonlyMap<string, LivePeer>> => new Map(),
  };
}
