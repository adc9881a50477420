import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { WantedTunnel } from "../tunnel/wanted-tunnel.ts";

/** A tunnel that only records the desired state. */
export class RecordingTunnel {
  wanted: WantedTunnel | undefined;
  refusal: string | undefined;
  live = new Map<string, LivePeer>();
  /** Another program removed the interface. */
  isGone = false;

  async apply(wanted: WantedTunnel): Promise<void> {
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
