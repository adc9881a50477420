/**
 * The device's agent: holds the configuration in use, and keeps the machine in the state that it describes. The link
 * calls `applyConfiguration` with configurations, and `report` for heartbeats.
 */

import { canonicalAddress } from "@gatehouse/addresses/ip-block";
import { ConfigurationHolder } from "@gatehouse/agent-core/configuration/configuration-holder";
import { expectedSigner, rotatedTrust } from "@gatehouse/agent-core/configuration/pinned-trust";
import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import { type HostResolver, hostAndPort } from "@gatehouse/agent-core/dns/host-resolver";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import { errorMessage } from "@gatehouse/agent-core/log";
import { SerialQueue } from "@gatehouse/agent-core/serial-queue";
import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { explanations } from "@gatehouse/agent-protocol/device/agent-link";
import type { SignedDeviceConfiguration } from "@gatehouse/agent-protocol/device/configuration";
import { deviceConfigurationFault, type UnreadConfiguration } from "@gatehouse/agent-protocol/device/envelope";
import type { DeviceFailureReason, DeviceHeartbeat } from "@gatehouse/agent-protocol/device/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import type { DeviceFolder, DeviceTrust } from "./configuration/device-folder.ts";
import { contentProblem, isDeviceConfiguration } from "./configuration/validate-device-configuration.ts";
import { hasSessionEnded, withoutGateways } from "./session/session-end.ts";
import { observedSelection, type PathSelection, selectedPath, selectionFor } from "./tunnel/path-selection.ts";
import { type TunnelChangeParts, TunnelChanges } from "./tunnel/tunnel-changes.ts";
import { type BypassRoute, gatewaysOfNames, isClosedToNames } from "./tunnel/wanted-tunnel.ts";

/** The result of applying a configuration. After `failed`, the previous configuration is still in use. */
export type DeviceOutcome =
  | { readonly state: "applied"; readonly configuration: ConfigurationName }
  | { readonly state: "failed"; readonly reason: DeviceFailureReason; readonly message: string };

interface DeviceAgentParts extends TunnelChangeParts {
  /** The id that this machine is enrolled as. */
  readonly device: string;
  /** The URL of the control plane, which is never reached through the tunnel. */
  readonly url: string;
  readonly folder: DeviceFolder;
  readonly names: ResolvedNames;
  readonly hosts: HostResolver;
  /** Whether the control plane is connected. It then ends sessions by its own clock. */
  readonly isLinked?: () => boolean;
}

/** A gateway as the device sees it. */
export interface GatewayState {
  readonly gateway: string;
  /** The gateway's tunnel address for IPv4. */
  readonly address: string;
  /** The selected path as configured; undefined: the device knows none. */
  readonly path: string | undefined;
  readonly isRelay: boolean;
  /** Milliseconds since 1970; undefined: never, or the tunnel could not be read. */
  readonly lastHandshake: number | undefined;
}

/** The interval at which peers are observed. */
const observeMs = 5_000;
/** The interval at which the machine is reconciled: endpoint addresses change, and people change routes. */
const reconcileMs = 60_000;
/** The limit of a heartbeat's gateways. */
const mostReported = 1_000;

export class DeviceAgent {
  readonly #parts: DeviceAgentParts;
  /** Changes of the configuration and its paths. */
  readonly #queue = new SerialQueue();
  readonly #holder: ConfigurationHolder<SignedDeviceConfiguration, DeviceTrust, DeviceConfiguration>;
  #trust: DeviceTrust | undefined;
  #used: SignedDeviceConfiguration | undefined;
  /** Path selections by the gateway's public key. */
  #selections = new Map<string, PathSelection>();
  readonly #tunnel: TunnelChanges;
  /** The reconciliation for new names that has not started yet. */
  #nextNames: Promise<void> | undefined;
  /** The time by the wall clock, so that the machine is reconciled at once after it slept. */
  #reconciledAt = 0;
  /** The session has ended by the clock of this machine, while the control plane is not connected. */
  #isSessionOver = false;
  /** The machine refused the stored configuration, which is retried. */
  #mustResume = false;
  /** The machine refused a part of the removal of the tunnel, which is retried. */
  #mustRemove = false;
  #cancelTimer: (() => void) | undefined;
  #isStopped = false;

  constructor(parts: DeviceAgentParts) {
    this.#parts = parts;
    this.#holder = new ConfigurationHolder(parts.folder, parts.log);
    this.#tunnel = new TunnelChanges(parts);
  }

  /** Resumes the stored configuration, or removes what an earlier run left. Must be called first. */
  async start(): Promise<void> {
    this.#trust = await this.#parts.folder.trust();
    await this.#queue.run(() => this.#resume());
    this.#scheduleCheck();
  }

  /**
   * Pins the tenant and the key that must sign configurations. A later key replaces it if the pinned one leads to it.
   *
   * @throws Error if others are pinned
   */
  trust(tenant: string, signingKey: string, handovers: readonly SigningKeyHandover[] = []): Promise<void> {
    // A configuration that is being applied replaces the trust that it was verified with. Pinning waits for it.
    return this.#queue.run(() => this.#pin(tenant, signingKey, handovers));
  }

  async #pin(tenant: string, signingKey: string, handovers: readonly SigningKeyHandover[]): Promise<void> {
    const known = this.#trust;
    if (known?.tenant === tenant && known.signingKey === signingKey) return;
    const trust =
      known === undefined
        ? { tenant, signingKey }
        : known.tenant === tenant
          ? rotatedTrust(known, signingKey, handovers)
          : undefined;
    if (trust === undefined) {
      throw new Error("The control plane offers another tenant or signing key than the pinned one.");
    }
    await this.#parts.folder.storeTrust(trust);
    this.#trust = trust;
    if (known !== undefined) this.#parts.log("control plane has rotated the signing key", { signingKey });
  }

  /** Applies a configuration, or returns why not. Never throws: the control plane receives the failure. */
  applyConfiguration(given: UnreadConfiguration): Promise<DeviceOutcome> {
    return this.#queue.run(() => this.#apply(given, true));
  }

  /** Resolves once all operations that are queued now are done. */
  async performed(): Promise<void> {
    await this.#queue.run(async () => undefined);
  }

  /** Returns the gateways that are peers, with their last handshakes. */
  async report(): Promise<DeviceHeartbeat["gateways"]> {
    const gateways = this.configuration?.gateways ?? [];
    const live = gateways.length === 0 ? new Map() : await this.#parts.tunnel.livePeers();
    return gateways.slice(0, mostReported).map(({ gateway, publicKey }) => {
      const lastHandshake = live.get(publicKey)?.lastHandshake;
      return lastHandshake === undefined ? { gateway } : { gateway, lastHandshake };
    });
  }

  /** Returns the gateways of the configuration with their paths and last handshakes. */
  async gatewayStates(): Promise<readonly GatewayState[]> {
    const gateways = this.configuration?.gateways ?? [];
    const live = gateways.length === 0 ? undefined : await this.#parts.tunnel.livePeers().catch(() => undefined);
    return gateways.map(({ gateway, publicKey, addresses: [address = ""] }) => {
      const selection = this.#selections.get(publicKey);
      const path = selection === undefined ? undefined : selectedPath(selection);
      const isRelay =
        selection !== undefined && path !== undefined && !(selection.hasEndpoint && selection.index === 0);
      return { gateway, address, path, isRelay, lastHandshake: live?.get(publicKey)?.lastHandshake };
    });
  }

  /** The configuration in use, without gateways after the session has ended; undefined: none. */
  get configuration(): DeviceConfiguration | undefined {
    const content = this.#used?.content;
    return content !== undefined && this.#isSessionOver ? withoutGateways(content) : content;
  }

  get signed(): SignedDeviceConfiguration | undefined {
    return this.#used;
  }

  get pinned(): DeviceTrust | undefined {
    return this.#trust;
  }

  /** The hosts that the tunnel depends on. Their names are never resolved through the tunnel. */
  get bypassHosts(): ReadonlySet<string> {
    const paths = [...this.#selections.values()].flatMap(({ paths: each }) =>
      each.map((path) => hostAndPort(path).host),
    );
    return new Set([...paths, new URL(this.#parts.url).hostname]);
  }

  /**
   * Routes newly resolved addresses through their gateways. Resolves when the machine has the routes. Calls that wait
   * for the queue share one reconciliation, so that a burst of new names does not change the machine for each of them.
   */
  namesChanged(): Promise<void> {
    this.#nextNames ??= this.#queue.run(() => {
      this.#nextNames = undefined;
      return this.#reconcile();
    });
    return this.#nextNames;
  }

  /** Returns the names of the configuration, exact or `*.domain`, that an address was resolved for. */
  namesOf(address: string): readonly string[] {
    const { configuration } = this;
    if (configuration === undefined) return [];
    return this.#parts.names.named({ destinations: gatewaysOfNames(configuration) }).get(address) ?? [];
  }

  /** Whether names must not resolve to the address in this network, because it belongs to a router. */
  isClosedToNames(address: string): boolean {
    return this.configuration !== undefined && isClosedToNames(this.configuration, this.#tunnel.network, address);
  }

  /**
   * Must be called before questions are sent to the machine's resolvers. After a change of the network, resolves once
   * DNS traffic to the new resolvers bypasses the tunnel. Does not wait for a reconciliation, which may need answers.
   */
  async useResolvers(resolvers: readonly string[]): Promise<void> {
    if (this.#needsNetwork && (await this.#tunnel.useResolvers(resolvers))) this.#reconcileSoon();
  }

  /** Lets the next check resolve all hosts again. They may have other addresses in another network. */
  #reconcileSoon(): void {
    this.#parts.hosts.expire();
    this.#reconciledAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether the tunnel depends on the network: it has names or unserved addresses, or may still have them. */
  get #needsNetwork(): boolean {
    return [this.configuration, this.#tunnel.configuration].some(
      (content) =>
        content !== undefined && (content.unserved !== undefined || Object.keys(gatewaysOfNames(content)).length > 0),
    );
  }

  /** Adds a listener. It receives each new configuration, and undefined when the configuration expires. */
  onChange(listener: (configuration: DeviceConfiguration | undefined) => Promise<void> | void): void {
    this.#holder.onChange(listener);
  }

  /** Removes the tunnel, so that the machine is as it was before the agent ran. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer?.();
    await this.#queue.run(async () => {
      await this.#holder.notify(undefined);
      await this.#tunnel.remove();
    });
  }

  async #resume(): Promise<void> {
    const { folder, log } = this.#parts;
    await this.#tunnel.removeDraining();
    const stored = this.#trust === undefined ? undefined : await folder.configuration();
    const outcome = stored === undefined ? undefined : await this.#apply(stored, false);
    this.#mustResume = outcome?.state === "failed" && outcome.reason === "not_applied";
    if (outcome?.state === "applied") {
      log("resumed the stored configuration", { generation: outcome.configuration.generation });
      return;
    }
    await this.#remove();
  }

  /** Removes the tunnel. If a part fails, checks try again until another configuration is in use. */
  async #remove(): Promise<void> {
    this.#mustRemove = true;
    await this.#tunnel.remove();
    this.#mustRemove = false;
  }

  async #apply(given: UnreadConfiguration, isNew: boolean): Promise<DeviceOutcome> {
    const { device, clock, log } = this.#parts;
    const failed = (reason: DeviceFailureReason, message: string): DeviceOutcome => {
      log("refused a configuration", { reason, detail: message });
      return { state: "failed", reason, message };
    };
    if (this.#isStopped) return failed("not_applied", "The agent is stopping.");
    const trust = this.#trust;
    if (trust === undefined) return failed("forged", "This device has no pinned signing key yet.");
    const name = configurationName(given.header, sha256);
    const { signingKey, accepted } = expectedSigner(trust, name, isNew);
    const expected = { device, now: clock.now(), tenant: trust.tenant, signingKey, latest: trust.latest };
    const fault = deviceConfigurationFault(given, expected, {
      sha256,
      verify: isSignedBy,
      hasForm: isDeviceConfiguration,
    });
    if (fault !== undefined) {
      const detail = fault === "malformed" ? contentProblem(given.content) : undefined;
      return failed(fault, detail === undefined ? explanations[fault] : `${explanations[fault]} ${detail}`);
    }
    const configuration = { ...given, content: given.content as DeviceConfiguration }; // `hasForm` has checked it
    if (this.#used !== undefined && configurationName(this.#used.header, sha256).hash === name.hash) {
      return { state: "applied", configuration: name };
    }
    const previous = this.#used;
    try {
      this.#used = configuration;
      await this.#reconcile();
    } catch (error) {
      await this.#restore(previous);
      return failed("not_applied", errorMessage(error));
    }
    this.#trust = accepted;
    if (isNew || trust.latest?.hash !== name.hash) await this.#holder.persist(configuration, this.#trust);
    if (isNew) {
      log("applied a configuration", {
        generation: name.generation,
        gateways: configuration.content.gateways.length,
      });
    }
    await this.#holder.notify(this.configuration);
    return { state: "applied", configuration: name };
  }

  async #restore(previous: SignedDeviceConfiguration | undefined): Promise<void> {
    this.#used = previous;
    try {
      if (previous === undefined) await this.#remove();
      else await this.#reconcile();
    } catch (err) {
      this.#parts.log("failed to restore the previous configuration; will retry", { err });
      this.#reconciledAt = 0;
    }
  }

  /** Applies the configuration in use to the machine, unless the agent is stopping. */
  async #reconcile(): Promise<void> {
    const { names, hosts, clock, log } = this.#parts;
    this.#isSessionOver = this.#isSessionOverNow();
    const content = this.configuration;
    if (content === undefined || this.#isStopped) return;
    if (this.#needsNetwork) {
      // If the machine refuses the former tunnel, it may accept this one, which may take access away.
      const isElsewhere = await this.#tunnel.followNetwork().catch((err: unknown) => {
        log("failed to adapt the tunnel to the network; will retry", { err });
        return true;
      });
      if (isElsewhere) hosts.expire();
    }
    this.#reconciledAt = clock.now();
    const previous = this.#selections;
    this.#selections = new Map(
      content.gateways.map((gateway) => [
        gateway.publicKey,
        selectionFor(gateway, previous.get(gateway.publicKey), clock.elapsedMs()),
      ]),
    );
    const paths = new Map(
      await Promise.all(
        content.gateways.map(async ({ publicKey }) => [publicKey, await this.#resolvedPath(publicKey)] as const),
      ),
    );
    const controlPlane = await this.#controlPlane();
    const named = names.named({ destinations: gatewaysOfNames(content) });
    const pathTo = ({ publicKey }: DeviceGateway) => paths.get(publicKey);
    await this.#tunnel.apply(content, { named, pathTo, controlPlane }, previous);
  }

  #isSessionOverNow(): boolean {
    const { isLinked = () => false, clock } = this.#parts;
    const content = this.#used?.content;
    if (content === undefined || isLinked() || !hasSessionEnded(content, clock.now())) return false;
    return content.gateways.length > 0 || content.unserved !== undefined;
  }

  async #resolvedPath(publicKey: string): Promise<string | undefined> {
    const selection = this.#selections.get(publicKey);
    const path = selection === undefined ? undefined : selectedPath(selection);
    if (path === undefined) return undefined;
    const { host, port } = hostAndPort(path);
    const [address] = await this.#parts.hosts.resolve(host);
    if (address === undefined) return undefined;
    return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  }

  async #controlPlane(): Promise<readonly BypassRoute[]> {
    const { hostname, port, protocol } = new URL(this.#parts.url);
    const addresses = await this.#parts.hosts.resolve(hostname.replace(/^\[|\]$/g, ""));
    const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
    return addresses.flatMap((text) => {
      const address = canonicalAddress(text);
      return address === undefined ? [] : [{ address, protocol: "tcp" as const, port: number }];
    });
  }

  #scheduleCheck(): void {
    const { clock } = this.#parts;
    this.#cancelTimer?.();
    if (this.#isStopped) return;
    const { header, content } = this.#used ?? {};
    const ends = [header?.expiresAt, content?.sessionEndsAt].filter((at) => at !== undefined && at > clock.now());
    const left = Math.min(...ends.map((at = 0) => at - clock.now()), observeMs);
    this.#cancelTimer = clock.after(Math.max(0, Math.min(observeMs, left)), () => void this.#checkNow());
  }

  async #checkNow(): Promise<void> {
    try {
      await this.#queue.run(() => this.#check());
    } catch (err) {
      this.#reconciledAt = Number.NEGATIVE_INFINITY;
      this.#parts.log("failed to check the tunnel; will retry", { err });
    } finally {
      this.#scheduleCheck();
    }
  }

  /**
   * Ends an expired configuration, observes the peers, and reconciles the machine if a path changed or time has passed.
   */
  async #check(): Promise<void> {
    const { tunnel, clock, log } = this.#parts;
    const used = this.#used;
    if (this.#isStopped) return;
    if (used === undefined) {
      if (this.#mustResume) await this.#resume();
      else if (this.#mustRemove) {
        await this.#remove();
        log("removed the tunnel");
      }
      return;
    }
    this.#mustResume = false;
    this.#mustRemove = false;
    const now = clock.now();
    if (used.header.expiresAt <= now) {
      this.#used = undefined;
      await this.#holder.notify(undefined);
      await this.#remove();
      log("configuration expired; removed the tunnel", { generation: used.header.generation });
      return;
    }
    if (this.#isSessionOver !== this.#isSessionOverNow()) {
      await this.#reconcile();
      if (this.#isSessionOver) log("session has ended; removed the routes");
      await this.#holder.notify(this.configuration);
      return;
    }
    let live: ReadonlyMap<string, LivePeer>;
    try {
      live = await tunnel.livePeers();
    } catch (err) {
      log("tunnel is gone; restoring it", { err });
      await this.#reconcile();
      return;
    }
    const hasMoved = this.#observe(this.configuration?.gateways ?? [], live, clock.elapsedMs());
    await this.#tunnel.endSilent();
    // The age is negative after the clock was set back.
    const age = now - this.#reconciledAt;
    if (!hasMoved && age >= 0 && age < reconcileMs) {
      if (this.#needsNetwork && (await this.#tunnel.followNetwork())) this.#reconcileSoon();
      return;
    }
    await this.#reconcile();
    if (this.#holder.failure !== undefined && this.#trust !== undefined) await this.#holder.persist(used, this.#trust);
  }

  /** Updates the path to each gateway. Returns whether a path changed. `now` is by `clock.elapsedMs()`. */
  #observe(gateways: readonly DeviceGateway[], live: ReadonlyMap<string, LivePeer>, now: number): boolean {
    let hasMoved = false;
    for (const { gateway, publicKey } of gateways) {
      const selection = this.#selections.get(publicKey);
      if (selection === undefined) continue;
      const next = observedSelection(selection, live.get(publicKey), now);
      this.#selections.set(publicKey, next);
      if (next.index === selection.index) continue;
      hasMoved = true;
      this.#parts.log("selected another path to a gateway", {
        gateway,
        previous: selectedPath(selection),
        selected: selectedPath(next),
      });
    }
    return hasMoved;
  }
}
