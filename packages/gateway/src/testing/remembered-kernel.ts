import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { ConfigurationContent } from "@gatehouse/agent-protocol/gateway/configuration";
import type { NftState } from "../enforcement/nft-state.ts";

/** Filters and a tunnel that are only remembered, in the place of a machine's kernel. */
export class RememberedKernel {
  /** Undefined: somebody else took them away, or nobody has made any. */
  filters: NftState | undefined;
  /** Undefined: there is no interface. */
  content: ConfigurationContent | undefined;
  /** What the machine says to the next change of the tunnel, when some of it is done. */
  refusal: string | undefined;
  /** What was changed, one after the other. */
  readonly changes: ("filters" | "tunnel")[] = [];

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

  async tunnel(content: ConfigurationContent): Promise<void> {
    const { refusal } = this;
    this.refusal = undefined;
    this.changes.push("tunnel");
    this.content = content;
    if (refusal !== undefined) throw new Error(refusal);
  }

  async mendTunnel(content: ConfigurationContent): Promise<boolean> {
    const wasGone = this.content === undefined;
    await this.tunnel(content);
    return wasGone;
  }

  /** The same machine, as the agent sees its interface. */
  readonly wireGuard = {
    name: "gh0",
    isThere: async (): Promise<boolean> => this.content !== undefined,
    livePeers: async (): Promise<ReadonlyMap<string, LivePeer>> => new Map(),
  };
}
