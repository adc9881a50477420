/**
 * Lets connections finish at gateways that the tunnel no longer has, over the drain tunnel. Durations are by
 * `clock.elapsedMs()`.
 */
import type { Clock } from "@gatehouse/agent-core/clock";
import type { Log } from "@gatehouse/agent-core/log";
import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { carriers, type Draining, nextDraining, notDraining } from "./drain-routes.ts";
import type { DrainTunnel } from "./drain-tunnel.ts";
import { isSilent, observedSelection, type PathSelection, selectionFor, wireGuardSessionMs } from "./path-selection.ts";
import type { Tunnel } from "./tunnel.ts";
import type { WantedTunnel } from "./wanted-tunnel.ts";

export interface DrainingParts {
  readonly tunnel: Pick<Tunnel, "livePeers">;
  /** If absent, connections at gateways that the tunnel no longer has break. */
  readonly drainTunnel?: Pick<DrainTunnel, "apply" | "remove" | "livePeers"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** A change of the tunnel. */
interface TunnelChange {
  /** The tunnel before the change, if any. */
  readonly applied: WantedTunnel | undefined;
  readonly wanted: WantedTunnel;
  /** The path selections before the change, by the gateway's public key. */
  readonly selections: ReadonlyMap<string, PathSelection>;
}

export class DrainingGateways {
  readonly #parts: DrainingParts;
  #current: Draining = notDraining;
  /** The paths to draining gateways, by public key. */
  #selections = new Map<string, PathSelection>();
  /** Whether the machine refused to remove the drain tunnel. */
  #mustRemove = false;

  constructor(parts: DrainingParts) {
    this.#parts = parts;
  }

  /**
   * Changes the tunnel, and drains the gateways that it loses.
   *
   * @param apply applies the change to the tunnel
   * @throws what `apply` throws
   */
  async duringChange(change: TunnelChange, apply: () => Promise<void>): Promise<void> {
    const { wanted } = change;
    const next = await this.#next(change);
    const starts = next.routes.some((route) => !this.#current.routes.includes(route));
    const isExchange = starts && this.#current.routes.some(({ publicKey }) => wanted.peers.has(publicKey));
    // A draining gateway gets its drain path before it loses its path in the tunnel. A returning gateway gets its path
    // in the tunnel before it loses its drain path.
    if (starts) await this.#apply(next, wanted, isExchange);
    await apply();
    if (!starts || (isExchange && this.#current === next)) await this.#apply(next, wanted);
  }

  /**
   * Ends the draining of gateways that no longer answer, or whose time is over. Their remaining connections break. Also
   * removes a drain tunnel that the machine refused to remove.
   */
  async endSilent(applied: WantedTunnel): Promise<void> {
    const { drainTunnel, clock } = this.#parts;
    if (drainTunnel === undefined) return;
    if (this.#current.routes.length === 0) {
      if (this.#mustRemove) await this.remove();
      return;
    }
    const live = await drainTunnel.livePeers();
    const now = clock.elapsedMs();
    for (const [key, selection] of this.#selections) {
      this.#selections.set(key, observedSelection(selection, live.get(key), now));
    }
    const routes = this.#current.routes.filter(({ publicKey, until }) => {
      const selection = this.#selections.get(publicKey);
      return until > now && selection !== undefined && !isSilent(selection, now);
    });
    if (routes.length === this.#current.routes.length) return;
    await this.#apply({ ...this.#current, routes }, applied);
  }

  /** Removes the drain tunnel, including the one that an earlier run left. */
  async remove(): Promise<void> {
    this.#current = notDraining;
    this.#mustRemove = true;
    await this.#parts.drainTunnel?.remove();
    this.#mustRemove = false;
  }

  async #next({ applied, wanted, selections }: TunnelChange): Promise<Draining> {
    const { drainTunnel, tunnel, clock } = this.#parts;
    const isGone = [...(applied?.peers.keys() ?? [])].some((key) => !wanted.peers.has(key));
    if (drainTunnel === undefined || (!isGone && this.#current.routes.length === 0)) return notDraining;
    // Without access to anything, connections have no right to finish.
    if (wanted.peers.size === 0) return notDraining;
    const live = isGone ? await tunnel.livePeers() : new Map<string, LivePeer>();
    const isAnswering = (key: string) =>
      selections.get(key)?.unansweredSince === undefined &&
      (live.get(key)?.lastHandshake ?? 0) > clock.now() - wireGuardSessionMs;
    return nextDraining(this.#current, applied, wanted, isAnswering, clock.elapsedMs());
  }

  /** If the machine refuses the drain tunnel, the connections break. */
  async #apply(next: Draining, wanted: WantedTunnel, isMoving = false): Promise<void> {
    const { drainTunnel, clock, log } = this.#parts;
    if (drainTunnel === undefined || (next.routes.length === 0 && this.#current.routes.length === 0)) return;
    try {
      await drainTunnel.apply(next, carriers(wanted), isMoving);
      this.#current = next;
      this.#mustRemove = false;
    } catch (err) {
      log("failed to drain gateways; their connections break", { err });
      // A check tries a failed removal again.
      await this.remove().catch(() => {});
    }
    this.#selections = new Map(
      this.#current.routes.map(({ publicKey, endpoint }) => [
        publicKey,
        selectionFor({ endpoint, relays: [] }, this.#selections.get(publicKey), clock.elapsedMs()),
      ]),
    );
  }
}
