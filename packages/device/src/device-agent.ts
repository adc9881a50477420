/**
 * The device's agent: holds the configuration that is in use, and keeps the machine as it says. Whoever brings configurations calls
 * `applyConfiguration`; whoever sends heartbeats calls `report`.
 */

import type { Clock } from "@gatehouse/agent-core/clock";
import { isSignedBy, sha256 } from "@gatehouse/agent-core/crypto/signatures";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import type { Log } from "@gatehouse/agent-core/log";
import type { LivePeer } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import { explanations } from "@gatehouse/agent-protocol/device/agent-link";
import type { SignedDeviceConfiguration } from "@gatehouse/agent-protocol/device/configuration";
import { deviceConfigurationFault, type UnreadConfiguration } from "@gatehouse/agent-protocol/device/envelope";
import type { DeviceFailureReason, DeviceHeartbeat } from "@gatehouse/agent-protocol/device/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { configurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { DeviceConfiguration, DeviceGateway } from "@gatehouse/contract/records/device-configuration";
import { contentProblem, isDeviceConfiguration } from "./configuration/check-device-configuration.ts";
import type { DeviceFolder, DeviceTrust } from "./configuration/device-folder.ts";
import { type HostAddresses, hostAndPort } from "./host-addresses.ts";
import { choiceFor, chosenWay, type EndpointChoice, isSilent, watchedChoice } from "./tunnel/endpoint-choice.ts";
import type { LeavingTunnel } from "./tunnel/leaving-tunnel.ts";
import { carriers, type Leaving, nextLeaving, nothingLeaves } from "./tunnel/leaving-ways.ts";
import type { Tunnel } from "./tunnel/tunnel.ts";
import {
  gatewaysOfNames,
  type Outside,
  plainAddress,
  type WantedTunnel,
  wantedTunnel,
} from "./tunnel/wanted-tunnel.ts";

/** What became of a configuration. After `failed`, what was in use before still is. */
export type DeviceOutcome =
  | { readonly state: "applied"; readonly configuration: ConfigurationName }
  | { readonly state: "failed"; readonly reason: DeviceFailureReason; readonly message: string };

interface DeviceAgentParts {
  /** The id that this is enrolled as. */
  readonly device: string;
  /** Where the control plane serves: never reached through the tunnel. */
  readonly url: string;
  readonly tunnel: Pick<Tunnel, "bring" | "remove" | "livePeers">;
  /** Where connections finish at gateways that are leaving; absent: they break. */
  readonly leaving?: Pick<LeavingTunnel, "bring" | "remove" | "livePeers"> | undefined;
  readonly folder: DeviceFolder;
  readonly names: ResolvedNames;
  readonly hosts: HostAddresses;
  readonly clock: Clock;
  readonly log: Log;
}

/** Peers are looked at so often, in milliseconds. */
const watchMs = 5_000;
/** The machine is held against what is wanted so often, in milliseconds: addresses of endpoints change, and people change routes. */
const mendMs = 60_000;
/** A session of WireGuard is over after this time without a handshake, in milliseconds. */
const sessionMs = 180_000;

export class DeviceAgent {
  readonly #parts: DeviceAgentParts;
  #trust: DeviceTrust | undefined;
  #used: SignedDeviceConfiguration | undefined;
  /** By the gateway's public key. */
  #choices = new Map<string, EndpointChoice>();
  #brought: WantedTunnel | undefined;
  #leaving: Leaving = nothingLeaves;
  /** Of those that are leaving, by public key. */
  #leavingChoices = new Map<string, EndpointChoice>();
  #mendedAt = 0;
  #lookedAt = 0;
  /** The machine refused what was kept: it is tried again. */
  #isToResume = false;
  /** The disk did not take what is in use. */
  #isUnkept = false;
  /** Changes of the machine, one after the other. */
  #queue: Promise<unknown> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #isStopped = false;
  #listeners: ((configuration: DeviceConfiguration | undefined) => Promise<void> | void)[] = [];

  constructor(parts: DeviceAgentParts) {
    this.#parts = parts;
  }

  /** Goes on with what was kept, where it still may be used; else takes away what an earlier run left. Comes before anything else. */
  async start(): Promise<void> {
    this.#trust = await this.#parts.folder.trust();
    await this.#inTurn(() => this.#resume());
    this.#watchLater();
  }

  /** Pins the tenant and the key that configurations have to be signed with. @throws Error when others are pinned */
  async trust(tenant: string, signingKey: string): Promise<void> {
    if (this.#trust === undefined) {
      const trust = { tenant, signingKey };
      await this.#parts.folder.keepTrust(trust);
      this.#trust = trust;
    } else if (this.#trust.signingKey !== signingKey || this.#trust.tenant !== tenant) {
      throw new Error("Another tenant or signing key than the pinned one is offered.");
    }
  }

  /** Uses a configuration, or says why not. Never throws: `failed` is for the control plane to see. */
  applyConfiguration(given: UnreadConfiguration): Promise<DeviceOutcome> {
    return this.#inTurn(() => this.#apply(given, true));
  }

  /** The gateways that are peers, with their last handshakes. */
  async report(): Promise<DeviceHeartbeat["gateways"]> {
    const gateways = this.configuration?.gateways ?? [];
    const live = gateways.length === 0 ? new Map() : await this.#parts.tunnel.livePeers();
    return gateways.slice(0, mostReported).map(({ gateway, publicKey }) => {
      const lastHandshake = live.get(publicKey)?.lastHandshake;
      return lastHandshake === undefined ? { gateway } : { gateway, lastHandshake };
    });
  }

  /** What is in use; undefined: nothing. */
  get configuration(): DeviceConfiguration | undefined {
    return this.#used?.content;
  }

  get signed(): SignedDeviceConfiguration | undefined {
    return this.#used;
  }

  get pinned(): DeviceTrust | undefined {
    return this.#trust;
  }

  /** Hosts that the tunnel depends on. */
  get outsideHosts(): ReadonlySet<string> {
    const ways = [...this.#choices.values()].flatMap((choice) => choice.ways.map((way) => hostAndPort(way).host));
    return new Set([...ways, new URL(this.#parts.url).hostname]);
  }

  /** Sends the addresses of names through their gateways. Back when that is so. */
  namesChanged(): Promise<void> {
    return this.#inTurn(() => this.#mend());
  }

  /** Calls when another configuration is in use, and with undefined when none is any more. */
  onChange(listener: (configuration: DeviceConfiguration | undefined) => Promise<void> | void): void {
    this.#listeners.push(listener);
  }

  /** Takes the tunnel away: a device that does not run the agent is as if there never had been one. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer?.();
    await this.#inTurn(async () => {
      await this.#tell(undefined);
      await this.#removeAll();
    });
  }

  async #resume(): Promise<void> {
    const { folder, leaving, log } = this.#parts;
    await leaving?.remove();
    const kept = this.#trust === undefined ? undefined : await folder.configuration();
    const outcome = kept === undefined ? undefined : await this.#apply(kept, false);
    this.#isToResume = outcome?.state === "failed" && outcome.reason === "not_applied";
    if (outcome?.state === "applied") {
      log(`Goes on with generation ${outcome.configuration.generation}, kept from before.`);
      return;
    }
    await this.#removeAll();
  }

  async #apply(given: UnreadConfiguration, isNew: boolean): Promise<DeviceOutcome> {
    const { device, clock, log } = this.#parts;
    const failed = (reason: DeviceFailureReason, message: string): DeviceOutcome => {
      log(`A configuration was refused (${reason}): ${message}`);
      return { state: "failed", reason, message };
    };
    const trust = this.#trust;
    if (trust === undefined) return failed("forged", "This device trusts no signing key yet.");
    const expected = { device, now: clock.now(), ...trust, latest: trust.latest };
    const fault = deviceConfigurationFault(given, expected, {
      sha256,
      verify: isSignedBy,
      hasForm: isDeviceConfiguration,
    });
    if (fault !== undefined) {
      const detail = fault === "malformed" ? contentProblem(given.content) : undefined;
      return failed(fault, detail === undefined ? explanations[fault] : `${explanations[fault]} ${detail}`);
    }
    const configuration = { ...given, content: given.content as DeviceConfiguration }; // `hasForm` was asked
    const name = configurationName(given.header, sha256);
    if (this.#used !== undefined && configurationName(this.#used.header, sha256).hash === name.hash) {
      return { state: "applied", configuration: name };
    }
    const before = this.#used;
    try {
      this.#used = configuration;
      await this.#mend();
    } catch (error) {
      await this.#restore(before);
      return failed("not_applied", error instanceof Error ? error.message : String(error));
    }
    this.#trust = { ...trust, latest: name };
    if (isNew || trust.latest?.hash !== name.hash) await this.#keep();
    if (isNew) log(`Uses generation ${name.generation}, with ${configuration.content.gateways.length} gateways.`);
    await this.#tell(configuration.content);
    return { state: "applied", configuration: name };
  }

  /** For a restart. Where the disk is full or broken, what is in use is so all the same, and it is tried again. */
  async #keep(): Promise<void> {
    const { folder, log } = this.#parts;
    if (this.#used === undefined || this.#trust === undefined) return;
    try {
      // The configuration first: what is kept may be later than the latest, never earlier, or it would be a replay after a crash.
      await folder.keepConfiguration(this.#used);
      await folder.keepTrust(this.#trust);
      this.#isUnkept = false;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (!this.#isUnkept) log(`What is in use cannot be kept for a restart; it is tried again: ${reason}`);
      this.#isUnkept = true;
    }
  }

  async #restore(before: SignedDeviceConfiguration | undefined): Promise<void> {
    this.#used = before;
    try {
      if (before === undefined) await this.#removeAll();
      else await this.#mend();
    } catch (error) {
      this.#parts.log(`What was there before could not be restored wholly; it is tried again: ${String(error)}`);
      this.#mendedAt = 0;
    }
  }

  /** Makes the machine as the configuration in use says. */
  async #mend(): Promise<void> {
    const { tunnel, names, clock } = this.#parts;
    const content = this.#used?.content;
    if (content === undefined) return;
    this.#mendedAt = clock.now();
    const before = this.#choices;
    this.#choices = new Map(
      content.gateways.map((gateway) => [
        gateway.publicKey,
        choiceFor(gateway, before.get(gateway.publicKey), clock.now()),
      ]),
    );
    const ways = new Map(
      await Promise.all(
        content.gateways.map(async ({ publicKey }) => [publicKey, await this.#addressOfWay(publicKey)] as const),
      ),
    );
    const wanted = wantedTunnel(content, {
      named: names.named({ destinations: gatewaysOfNames(content) }),
      wayTo: ({ publicKey }: DeviceGateway) => ways.get(publicKey),
      controlPlane: await this.#controlPlane(),
    });
    const leaving = await this.#nextLeaving(wanted, before);
    const begins = leaving.ways.some((way) => !this.#leaving.ways.includes(way));
    const isExchange = begins && this.#leaving.ways.some(({ publicKey }) => wanted.peers.has(publicKey));
    // A gateway that leaves has its second way before it loses the first, and one that is back the other way round.
    if (begins) await this.#bringLeaving(leaving, wanted, isExchange);
    await tunnel.bring(wanted);
    this.#brought = wanted;
    if (!begins || (isExchange && this.#leaving === leaving)) await this.#bringLeaving(leaving, wanted);
  }

  async #nextLeaving(wanted: WantedTunnel, choices: ReadonlyMap<string, EndpointChoice>): Promise<Leaving> {
    const { leaving, tunnel, clock } = this.#parts;
    const isGone = [...(this.#brought?.peers.keys() ?? [])].some((key) => !wanted.peers.has(key));
    if (leaving === undefined || (!isGone && this.#leaving.ways.length === 0)) return nothingLeaves;
    const now = clock.now();
    const live = isGone ? await tunnel.livePeers() : new Map<string, LivePeer>();
    const isAnswering = (key: string) =>
      choices.get(key)?.unansweredSince === undefined && (live.get(key)?.lastHandshake ?? 0) > now - sessionMs;
    return nextLeaving(this.#leaving, this.#brought, wanted, isAnswering, now);
  }

  /** Lets connections finish where the tunnel has no gateway any more. It is a courtesy: where it fails, they break. */
  async #bringLeaving(next: Leaving, wanted: WantedTunnel, isMoving = false): Promise<void> {
    const { leaving, clock, log } = this.#parts;
    if (leaving === undefined || (next.ways.length === 0 && this.#leaving.ways.length === 0)) return;
    try {
      await leaving.bring(next, carriers(wanted), isMoving);
      this.#leaving = next;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log(`Running connections cannot finish at the gateway they began at: ${reason}`);
      this.#leaving = nothingLeaves;
      await leaving.remove().catch(() => {});
    }
    this.#leavingChoices = new Map(
      this.#leaving.ways.map(({ publicKey, endpoint }) => [
        publicKey,
        choiceFor({ endpoint, relays: [] }, this.#leavingChoices.get(publicKey), clock.now()),
      ]),
    );
  }

  async #addressOfWay(publicKey: string): Promise<string | undefined> {
    const choice = this.#choices.get(publicKey);
    const way = choice === undefined ? undefined : chosenWay(choice);
    if (way === undefined) return undefined;
    const { host, port } = hostAndPort(way);
    const [address] = await this.#parts.hosts.of(host);
    if (address === undefined) return undefined;
    return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  }

  async #controlPlane(): Promise<readonly Outside[]> {
    const { hostname, port, protocol } = new URL(this.#parts.url);
    const addresses = await this.#parts.hosts.of(hostname.replace(/^\[|\]$/g, ""));
    const number = port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
    return addresses.flatMap((text) => {
      const address = plainAddress(text);
      return address === undefined ? [] : [{ address, protocol: "tcp" as const, port: number }];
    });
  }

  #watchLater(): void {
    const { clock } = this.#parts;
    this.#cancelTimer?.();
    if (this.#isStopped) return;
    const left = this.#used === undefined ? watchMs : this.#used.header.expiresAt - clock.now();
    this.#cancelTimer = clock.after(Math.max(0, Math.min(watchMs, left)), () => void this.#watch());
  }

  async #watch(): Promise<void> {
    try {
      await this.#inTurn(() => this.#look());
    } catch (error) {
      this.#parts.log(`The tunnel could not be looked after; tried again: ${String(error)}`);
    } finally {
      this.#watchLater();
    }
  }

  async #look(): Promise<void> {
    const { tunnel, clock, log } = this.#parts;
    const used = this.#used;
    if (this.#isStopped) return;
    if (used === undefined) {
      if (this.#isToResume) await this.#resume();
      return;
    }
    this.#isToResume = false;
    const now = clock.now();
    if (used.header.expiresAt <= now) {
      this.#used = undefined;
      await this.#tell(undefined);
      await this.#removeAll();
      log(
        `Generation ${used.header.generation} has expired: nothing is sent through gateways until another one comes.`,
      );
      return;
    }
    if (now < this.#lookedAt) {
      // The clock was set back: what is counted from moments that are yet to come begins anew.
      this.#choices = new Map();
      this.#mendedAt = Number.NEGATIVE_INFINITY;
    }
    this.#lookedAt = now;
    let live: ReadonlyMap<string, LivePeer>;
    try {
      live = await tunnel.livePeers();
    } catch (error) {
      log(`The tunnel is gone, and brought again: ${error instanceof Error ? error.message : String(error)}`);
      await this.#mend();
      return;
    }
    let hasMoved = false;
    for (const { gateway, publicKey } of used.content.gateways) {
      const choice = this.#choices.get(publicKey);
      if (choice === undefined) continue;
      const next = watchedChoice(choice, live.get(publicKey), now);
      this.#choices.set(publicKey, next);
      if (next.index === choice.index) continue;
      hasMoved = true;
      log(
        `The gateway ${gateway} is tried at ${chosenWay(next)}: ${chosenWay(choice)} does not answer, or is no endpoint.`,
      );
    }
    await this.#endLeaving(now);
    if (!hasMoved && now - this.#mendedAt < mendMs) return;
    await this.#mend();
    if (this.#isUnkept) await this.#keep();
  }

  /** Those whose time is over, or that do not answer any more: what was left of connections goes the new way, and ends there. */
  async #endLeaving(now: number): Promise<void> {
    const { leaving } = this.#parts;
    const brought = this.#brought;
    if (leaving === undefined || brought === undefined || this.#leaving.ways.length === 0) return;
    const live = await leaving.livePeers();
    for (const [key, choice] of this.#leavingChoices) {
      this.#leavingChoices.set(key, watchedChoice(choice, live.get(key), now));
    }
    const ways = this.#leaving.ways.filter(({ publicKey, until }) => {
      const choice = this.#leavingChoices.get(publicKey);
      return until > now && choice !== undefined && !isSilent(choice, now);
    });
    if (ways.length === this.#leaving.ways.length) return;
    await this.#bringLeaving({ ...this.#leaving, ways }, brought);
  }

  async #removeAll(): Promise<void> {
    this.#brought = undefined;
    this.#leaving = nothingLeaves;
    const { tunnel, leaving } = this.#parts;
    await Promise.all([tunnel.remove(), leaving?.remove()]);
  }

  async #tell(configuration: DeviceConfiguration | undefined): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener(configuration);
      } catch (error) {
        this.#parts.log(`After a change of configuration: ${String(error)}`);
      }
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }
}

/** What a heartbeat has room for. */
const mostReported = 1_000;
