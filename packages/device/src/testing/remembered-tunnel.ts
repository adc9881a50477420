import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { WantedTunnel } from "../tunnel/wanted-tunnel.ts";

/** A tunnel that only remembers what it should be like. */
export class RememberedTunnel {
  wanted: WantedTunnel | undefined;
  refusal: string | undefined;
  live = new Map<string, LivePeer>();
  /** Somebody else took it away. */
  isGone = false;

  async bring(wanted: WantedTunnel): Promise<void> {
    const { refusal } = this;
    this.refusal = undefined;
    if (refusal !== undefined) throw new Error(refusal);
    this.wanted = wanted;
    this.isGone = false;
  }

  async remove(): Promise<void> {
    this.wanted = undefined;
  }

  async livePeers() {
    if (this.isGone) throw new Error("no such device");
    return this.live;
  }
}
