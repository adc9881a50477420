/**
 * The agent: holds the configuration that is enforced, and keeps the kernel as it says. Whoever brings configurations, the link or a
 * person, calls `applyConfiguration`; whoever sends heartbeats calls `report`.
 */

import type { Clock } from "@gatehouse/agent-core/clock";
import type { ResolvedNames } from "@gatehouse/agent-core/dns/resolved-names";
import type { Log } from "@gatehouse/agent-core/log";
import type { WireGuardInterface } from "@gatehouse/agent-core/wireguard/wireguard-interface";
import type { ConfigurationContent, SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import type { FailureReason, PeerReport } from "@gatehouse/agent-protocol/gateway/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import { checkForm } from "./configuration/check-content.ts";
import type { StateFolder } from "./configuration/state-folder.ts";
import { nameOf, refusalOf, type Trust } from "./configuration/verify-configuration.ts";
import type { Kernel } from "./enforcement/kernel.ts";
import type { NftState } from "./enforcement/nft-state.ts";
import { nextChangeAt } from "./enforcement/time-windows.ts";
import { type Carriage, closedTable, type PolicyPart, policyPart, withNames } from "./enforcement/traffic-rules.ts";
import type { EndpointHosts } from "./names/endpoint-hosts.ts";
import { loadOfMachine, peerReports } from "./reports/reports.ts";

/** What became of a configuration. After `failed`, what was enforced before still is. */
export type Outcome =
  | { readonly state: "applied"; readonly configuration: ConfigurationName }
  | { readonly state: "failed"; readonly reason: FailureReason; readonly message: string };

/** What a heartbeat tells. */
export interface Report {
  /** What is enforced; null: nothing. */
  readonly enforces: ConfigurationName | null;
  /** Share of the processors in use, 0 to 1. */
  readonly load: number;
  readonly peers: readonly PeerReport[];
  /** What it cannot do beside enforcing, for people. */
  readonly warnings: readonly string[];
}

interface Enforced {
  readonly configuration: SignedConfiguration;
  readonly policy: PolicyPart;
}

interface AgentParts {
  readonly kernel: Pick<Kernel, keyof Kernel>;
  readonly wireGuard: Pick<WireGuardInterface, "name" | "isThere" | "livePeers">;
  readonly carriage: Carriage;
  readonly folder: StateFolder;
  readonly names: ResolvedNames;
  readonly hosts: EndpointHosts;
  readonly warnings: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** After the kernel refused what a timer wanted, it is tried again so often, in milliseconds. */
const retryMs = 5_000;
/** Other programs may take the filters or the tunnel away: it is looked so often whether they are there, in milliseconds. */
const lookMs = 2_000;
/** The tunnel is held against what is wanted so often, in milliseconds: people and programs change peers, addresses and routes. */
const mendMs = 60_000;
/** The wall clock may be set, and machines sleep: the time is looked at so often, in milliseconds. */
const longestWaitMs = 30_000;

export class Agent {
  readonly #parts: AgentParts;
  #trust: Trust | undefined;
  #enforced: Enforced | undefined;
  /** Changes of the kernel, one after the other. */
  #queue: Promise<unknown> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;
  #isStopped = false;
  /** Why what is enforced is not kept for a restart. */
  #unkept: string | undefined;
  /** How many looks there were since the tunnel was mended. */
  #looks = 0;
  /** The machine refused what was kept: it is tried again. */
  #isToResume = false;
  #listeners: ((content: ConfigurationContent | undefined) => Promise<void> | void)[] = [];

  constructor(parts: AgentParts) {
    this.#parts = parts;
  }

  /**
   * Closes the tunnel, then enforces what was kept, if it still may be. Comes before anything else.
   *
   * @param signingKey whom to trust where nobody is trusted yet; base64
   * @throws Error where another key is trusted already
   */
  async start(signingKey?: string): Promise<void> {
    await this.#parts.folder.publicKey();
    this.#trust = await this.#parts.folder.trust();
    if (signingKey !== undefined) await this.trustSigningKey(signingKey);
    await this.#inTurn(() => this.#resume());
    this.#lookLater(lookMs);
  }

  /**
   * Pins the key that configurations have to be signed with. The first one stays.
   *
   * @throws Error when it is not the one that is pinned
   */
  async trustSigningKey(signingKey: string): Promise<void> {
    if (this.#trust === undefined) {
      const trust = { signingKey };
      await this.#parts.folder.keepTrust(trust);
      this.#trust = trust;
    } else if (this.#trust.signingKey !== signingKey) {
      throw new Error(
        `Another signing key than the pinned one is offered. If the control plane was set up anew, empty the state folder, and take the interface away: ip link delete dev ${this.#parts.wireGuard.name}`,
      );
    }
  }

  /** Enforces a configuration, or says why not. Never throws: `failed` is for the control plane to see. */
  applyConfiguration(given: unknown): Promise<Outcome> {
    return this.#inTurn(() => this.#apply(given, true));
  }

  async report(): Promise<Report> {
    const content = this.#enforced?.configuration.content;
    const live = content === undefined ? new Map() : await this.#parts.wireGuard.livePeers();
    return {
      enforces: this.enforces ?? null,
      load: loadOfMachine(),
      peers: content === undefined ? [] : peerReports(content, live),
      warnings: [...(this.#unkept === undefined ? [] : [this.#unkept]), ...this.#parts.warnings()],
    };
  }

  /** What is enforced; undefined: everything is dropped. */
  get enforces(): ConfigurationName | undefined {
    return this.#enforced === undefined ? undefined : nameOf(this.#enforced.configuration.envelope.header);
  }

  get content(): ConfigurationContent | undefined {
    return this.#enforced?.configuration.content;
  }

  /** Brings the filters up to date with the names that are resolved. Back when the kernel has them. */
  namesChanged(): Promise<void> {
    return this.#inTurn(() => this.#refreshFilters());
  }

  /** Brings peers and filters up to date with where the hosts of endpoints are. Back when the kernel has them. */
  endpointsMoved(): Promise<void> {
    return this.#inTurn(async () => {
      const content = this.content;
      if (content === undefined) return;
      await this.#parts.kernel.tunnel(content);
      await this.#refreshFilters();
    });
  }

  /** Calls when another configuration is enforced, and with undefined when none is any more. */
  onChange(listener: (content: ConfigurationContent | undefined) => Promise<void> | void): void {
    this.#listeners.push(listener);
  }

  /** Ends the timers. What is enforced stays: the kernel goes on with it until it expires. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelLook?.();
    await this.#inTurn(() => {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
      return Promise.resolve();
    });
  }

  async #resume(): Promise<void> {
    const { folder, kernel, wireGuard, log } = this.#parts;
    const kept = await folder.configuration();
    const outcome: Outcome | undefined =
      kept === undefined
        ? undefined
        : "problem" in kept
          ? { state: "failed", reason: "malformed", message: kept.problem }
          : await this.#apply(kept.configuration, false);
    this.#isToResume = outcome?.state === "failed" && outcome.reason === "not_applied";
    if (outcome?.state === "applied") {
      log(`Enforces generation ${outcome.configuration.generation}, kept from before.`);
      return;
    }
    if (outcome !== undefined) log(`The kept configuration is not enforced (${outcome.reason}): ${outcome.message}`);
    await kernel.filter(closedTable(wireGuard.name));
  }

  async #apply(given: unknown, isNew: boolean): Promise<Outcome> {
    const { clock, log } = this.#parts;
    const failed = (reason: FailureReason, message: string): Outcome => {
      log(`A configuration was refused (${reason}): ${message}`);
      return { state: "failed", reason, message };
    };
    const checked = checkForm(given);
    if ("problem" in checked) return failed("malformed", checked.problem);
    const trust = this.#trust;
    if (trust === undefined) return failed("forged", "This agent trusts no signing key yet.");
    const { configuration } = checked;
    const { header } = configuration.envelope;
    const refusal = refusalOf(configuration, trust, clock.now());
    if (refusal !== undefined) return failed(refusal.reason, refusal.message);
    const name = nameOf(header);
    if (this.enforces?.hash === name.hash) return { state: "applied", configuration: name };
    const before = this.#enforced;
    try {
      await this.#enforce(configuration, before);
    } catch (error) {
      await this.#restore(before);
      return failed("not_applied", error instanceof Error ? error.message : String(error));
    }
    this.#trust = { ...trust, gateway: header.gateway, tenant: header.tenant, latest: name };
    if (isNew || trust.latest?.hash !== name.hash) await this.#keep();
    if (isNew) log(`Enforces generation ${name.generation}.`);
    await this.#tell(configuration.content);
    return { state: "applied", configuration: name };
  }

  /** The filters last: until they are there, new peers get nowhere; and nothing but them can open a way. */
  async #enforce(configuration: SignedConfiguration, before: Enforced | undefined): Promise<void> {
    const { kernel, clock, carriage } = this.#parts;
    const { content, envelope } = configuration;
    const policy = policyPart(carriage, content, clock.now(), envelope.header.expiresAt);
    const state = this.#table(policy, content);
    await kernel.checkFilters(state);
    await kernel.forward();
    // At the start the filters go first: what an earlier run left is replaced at once, and no tunnel is ever without any.
    if (before === undefined) await kernel.filter(state);
    await kernel.tunnel(content);
    await kernel.filter(state);
    this.#enforced = { configuration, policy };
    this.#setTimer();
  }

  /** For a restart. Where the disk is full or broken, who lost access loses it all the same: what is enforced stays, and it is tried again. */
  async #keep(): Promise<void> {
    const { folder, log } = this.#parts;
    if (this.#enforced === undefined || this.#trust === undefined) return;
    try {
      // The configuration first: what is kept may be later than the latest, never earlier, or it would be a replay after a crash.
      await folder.keepConfiguration(this.#enforced.configuration);
      await folder.keepTrust(this.#trust);
      this.#unkept = undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const warning = `What is enforced cannot be kept (${reason}): after a restart an earlier configuration would be enforced, until the control plane is reached.`;
      if (this.#unkept !== warning) log(warning);
      this.#unkept = warning;
    }
  }

  async #restore(before: Enforced | undefined): Promise<void> {
    const { kernel, wireGuard, log } = this.#parts;
    this.#enforced = before;
    try {
      if (before === undefined) return await kernel.filter(closedTable(wireGuard.name));
      const { content } = before.configuration;
      await kernel.filter(this.#table(before.policy, content));
      await kernel.tunnel(content);
    } catch (error) {
      log(`What was there before could not be restored wholly; it is tried again: ${String(error)}`);
    } finally {
      this.#setTimer();
    }
  }

  /** Time has passed, or names have other addresses. */
  async #refreshFilters(): Promise<void> {
    const { kernel, clock, wireGuard, log } = this.#parts;
    const enforced = this.#enforced;
    if (enforced === undefined) return;
    const { content, envelope } = enforced.configuration;
    if (envelope.header.expiresAt <= clock.now()) {
      log(`Generation ${envelope.header.generation} has expired: everything is dropped until another one comes.`);
      this.#enforced = undefined;
      await kernel.filter(closedTable(wireGuard.name));
      await this.#tell(undefined);
      return;
    }
    await kernel.filter(this.#table(enforced.policy, content));
  }

  /** What the kernel is to hold, by what is known of names and hosts now. */
  #table(policy: PolicyPart, content: ConfigurationContent): NftState {
    const { names, hosts } = this.#parts;
    return withNames(policy, content, names.named(content), (host) => hosts.addressesOf(host));
  }

  #setTimer(delayMs?: number): void {
    const { clock, carriage, log } = this.#parts;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const enforced = this.#enforced;
    if (enforced === undefined) return;
    const { content, envelope } = enforced.configuration;
    const { expiresAt } = envelope.header;
    const next = nextChangeAt(content, expiresAt, clock.now()) ?? expiresAt;
    const timePassed = async () => {
      if (this.#enforced !== enforced) return;
      if (clock.now() < next) return this.#setTimer();
      const policy = policyPart(carriage, content, clock.now(), expiresAt);
      this.#enforced = { configuration: enforced.configuration, policy };
      try {
        await this.#refreshFilters();
        this.#setTimer();
      } catch (error) {
        log(`The filters could not follow the time; tried again in ${retryMs / 1000} s: ${String(error)}`);
        this.#setTimer(retryMs);
      }
    };
    this.#cancelTimer = clock.after(
      delayMs ?? Math.min(next - clock.now(), longestWaitMs),
      () => void this.#inTurn(timePassed),
    );
  }

  #lookLater(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelLook = this.#parts.clock.after(delayMs, () => {
      this.#inTurn(() => this.#look()).then(
        () => this.#lookLater(lookMs),
        (error: unknown) => {
          this.#parts.log(
            `The machine could not be looked after; tried again in ${retryMs / 1000} s: ${String(error)}`,
          );
          this.#lookLater(retryMs);
        },
      );
    });
  }

  /** Puts back what others took away. The filters first: without them everything passes. */
  async #look(): Promise<void> {
    const { kernel, wireGuard, log } = this.#parts;
    if (this.#isStopped) return;
    if (!(await kernel.hasFilters())) {
      if (this.#enforced === undefined) await kernel.filter(closedTable(wireGuard.name));
      else await this.#refreshFilters();
      log("The filters had been taken away by another program, such as nft flush ruleset: they are back.");
    }
    const content = this.content;
    this.#looks += 1;
    if (content === undefined) {
      if (this.#isToResume && this.#looks * lookMs >= retryMs) {
        this.#looks = 0;
        await this.#resume();
      }
      return;
    }
    this.#isToResume = false;
    if (this.#looks * lookMs < mendMs && (await wireGuard.isThere())) return;
    this.#looks = 0;
    if (this.#unkept !== undefined) await this.#keep();
    if (await kernel.mendTunnel(content)) log(`The interface ${wireGuard.name} had gone: it is back.`);
  }

  async #tell(content: ConfigurationContent | undefined): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener(content);
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
