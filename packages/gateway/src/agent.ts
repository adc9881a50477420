/**
 * The gateway's agent: holds the enforced configuration, and keeps the kernel in the state that it describes. The link
 * or a person calls `applyConfiguration` with configurations; the link calls `report` for heartbeats.
 */

import { ConfigurationHolder } from "@gatehouse/agent-core/configuration/configuration-holder";
import { expectedSigner, rotatedTrust } from "@gatehouse/agent-core/configuration/pinned-trust";
import { errorMessage } from "@gatehouse/agent-core/log";
import { SerialQueue } from "@gatehouse/agent-core/serial-queue";
import type { ConfigurationContent, SignedConfiguration } from "@gatehouse/agent-protocol/gateway/configuration";
import type { FailureReason } from "@gatehouse/agent-protocol/gateway/frames";
import type { ConfigurationName } from "@gatehouse/agent-protocol/link/envelope";
import type { SigningKeyHandover } from "@gatehouse/agent-protocol/link/signing-key-handover";
import type { AgentParts, Outcome, Report } from "./agent-parts.ts";
import { readStoredState, type StoredState } from "./configuration/stored-state.ts";
import { contentAt, endedDevices } from "./configuration/time-windows.ts";
import { validateConfiguration } from "./configuration/validate-configuration.ts";
import { nameOf, refusalOf, type Trust } from "./configuration/verify-configuration.ts";
import { closedTable } from "./enforcement/base-chains.ts";
import { changesAt, type Enforced, enforcedAt, enforcedFrom, limitedBy } from "./enforcement/enforced.ts";
import type { NftState } from "./enforcement/nft-state.ts";
import { withNames } from "./enforcement/traffic-rules.ts";
import { Repairs } from "./reports/repairs.ts";
import { loadOfMachine, peerReports } from "./reports/reports.ts";
import { storeWarnings } from "./reports/store-warnings.ts";
import { type OpenState, RouteGuard } from "./route-guard.ts";

/** The interval of retries after the kernel refused a change. */
const retryMs = 5_000;
/** The interval of checks of the filters and the tunnel: other programs may change them. */
const checkMs = 2_000;
/** The interval of tunnel repairs: people and programs change peers, addresses and routes. */
const repairMs = 10_000;
/** The interval between checks of the wall clock, which may be set, and which advances while the machine sleeps. */
const longestWaitMs = 30_000;

export class Agent {
  readonly #parts: AgentParts;
  /** Changes of the kernel. */
  readonly #queue = new SerialQueue();
  readonly #holder: ConfigurationHolder<SignedConfiguration, Trust, ConfigurationContent>;
  #trust: Trust | undefined;
  #enforced: Enforced | undefined;
  #cancelTimer: (() => void) | undefined;
  #cancelCheck: (() => void) | undefined;
  #isStopped = false;
  /** The number of checks since the tunnel was last repaired. */
  #checks = 0;
  /** Another program changed the filters, and the kernel refused to restore them. */
  #isOpen = false;
  readonly #repairs: Repairs;
  readonly #route: RouteGuard;
  /** The kernel refused a part of the last change. The enforced state is applied until the kernel accepts it. */
  #mustRetry = false;
  /** The state at the start, if the machine refused its configuration. Undefined: there is nothing to retry. */
  #stored: StoredState | undefined;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.#repairs = new Repairs(parts.wireGuard.name, parts.clock);
    this.#route = new RouteGuard(parts, this.#repairs);
    this.#holder = new ConfigurationHolder(parts.folder, parts.log, parts.copy);
  }

  /**
   * Closes the tunnel, then enforces the stored configuration if it is still valid. Must be called first.
   *
   * @param signingKey the key to pin if none is pinned yet; base64
   * @throws Error if another key is pinned
   */
  async start(signingKey?: string): Promise<void> {
    const { folder, clock } = this.#parts;
    await folder.publicKey();
    const stored = await readStoredState(this.#parts, clock.now());
    this.#trust = stored.trust;
    const isFormer = signingKey !== undefined && this.#trust?.formerKeys?.includes(signingKey) === true;
    if (signingKey !== undefined && !isFormer) await this.trustSigningKey(signingKey);
    try {
      await this.#queue.run(() => this.#resume(stored));
    } catch (error) {
      // The program ends. No retry may keep it running.
      await this.stop();
      throw error;
    }
    this.#scheduleCheck(checkMs);
  }

  /**
   * Pins the key that must sign configurations. A later key replaces the pinned key if the pinned key leads
   * to it. The later key need not be stored: after a restart, the stored key still leads to it.
   *
   * @throws Error if another key is pinned, or the first key cannot be stored
   */
  trustSigningKey(signingKey: string, handovers: readonly SigningKeyHandover[] = []): Promise<void> {
    return this.#queue.run(() => this.#pin(signingKey, handovers));
  }

  async #pin(signingKey: string, handovers: readonly SigningKeyHandover[]): Promise<void> {
    const known = this.#trust;
    if (known?.signingKey === signingKey) return;
    const rotated = known === undefined ? { signingKey } : rotatedTrust(known, signingKey, handovers);
    if (rotated === undefined) {
      throw new Error(
        `The control plane offers another signing key than the pinned one. If the control plane was set up again, empty the state folder and delete the interface: ip link delete dev ${this.#parts.wireGuard.name}`,
      );
    }
    const trust =
      known === undefined ? rotated : { ...rotated, formerKeys: [...(known.formerKeys ?? []), known.signingKey] };
    if (known === undefined) await this.#parts.folder.storeTrust(trust);
    else await this.#holder.persistTrust(trust);
    this.#trust = trust;
    if (known !== undefined) this.#parts.log("control plane has rotated the signing key", { signingKey });
  }

  /** Enforces a configuration, or returns why not. Never throws: the control plane receives the failure. */
  applyConfiguration(given: unknown): Promise<Outcome> {
    return this.#queue.run(() => this.#apply(given, true));
  }

  /** Resolves once all operations that are queued now are done. */
  async performed(): Promise<void> {
    await this.#queue.run(async () => undefined);
  }

  async report(): Promise<Report> {
    const { content } = this;
    const live = content === undefined ? new Map() : await this.#parts.wireGuard.livePeers();
    return {
      enforces: this.enforces ?? null,
      load: loadOfMachine(),
      peers: content === undefined ? [] : peerReports(content, live),
      warnings: [
        ...this.#route.warnings(),
        ...storeWarnings(this.#holder),
        ...this.#parts.warnings(),
        ...this.#repairs.problems(),
        // Past repairs come last: the link limits the number of warnings.
        ...this.#repairs.warnings(),
      ],
    };
  }

  /** The configuration that is enforced completely; undefined if none. */
  get enforces(): ConfigurationName | undefined {
    const enforced = this.#enforced;
    return enforced === undefined || enforced.isLimited || this.#isOpen || this.#route.isClosed
      ? undefined
      : nameOf(enforced.configuration.envelope.header);
  }

  /** The pinned identity; undefined: none is pinned yet. */
  get trust(): Trust | undefined {
    return this.#trust;
  }

  /** The latest configuration that the machine accepted, even if it is not enforced completely; undefined if none. */
  get configuration(): SignedConfiguration | undefined {
    return this.#enforced?.configuration;
  }

  /** Whether the machine refused a configuration, so that the previous one is no longer enforced completely. */
  get isLimited(): boolean {
    return this.#enforced?.isLimited === true;
  }

  /** The content that the kernel has; undefined: everything is dropped. */
  get content(): ConfigurationContent | undefined {
    return this.#enforced?.content;
  }

  /** Applies newly resolved addresses to the filters. Resolves when the kernel has them. */
  namesChanged(): Promise<void> {
    return this.#queue.run(() => this.#refreshFilters());
  }

  /** Applies new endpoint addresses to peers and filters. Resolves when the kernel has them. */
  endpointsMoved(): Promise<void> {
    return this.#queue.run(async () => {
      const content = this.content;
      if (content === undefined) return;
      await this.#tunnel(content);
      await this.#refreshFilters();
    });
  }

  /** Devices whose sessions have ended are not peers. Without the route to devices, the tunnel stays as it is. */
  async #tunnel(content: ConfigurationContent): Promise<void> {
    const { kernel, clock } = this.#parts;
    if (!this.#route.isClosed) await kernel.tunnel(contentAt(content, clock.now()));
  }

  /** Adds a listener. It receives the content after each change, and undefined when the configuration expires. */
  onChange(listener: (content: ConfigurationContent | undefined) => Promise<void> | void): void {
    this.#holder.onChange(listener);
  }

  /** Stops the timers. The kernel keeps enforcing the configuration until it expires. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelCheck?.();
    await this.#queue.run(() => {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
      return Promise.resolve();
    });
    this.#parts.copy.close();
  }

  /** Enforces the latest configuration that is valid. Configurations before the latest one count as replayed. */
  async #resume(stored: StoredState): Promise<void> {
    const { kernel, wireGuard, log } = this.#parts;
    this.#stored = undefined;
    for (const { read, isCopy } of stored.configurations) {
      const place = isCopy ? "in the runtime folder" : "in the state folder";
      const outcome: Outcome =
        "problem" in read
          ? { state: "failed", reason: "malformed", message: read.problem }
          : await this.#apply(read.configuration, false);
      if (outcome.state === "applied") {
        log("resumed the stored configuration", { generation: outcome.configuration.generation, place });
        if ("configuration" in read) await this.#persistResumed(read.configuration, stored, isCopy);
        return;
      }
      log("stored configuration cannot be enforced", { reason: outcome.reason, detail: outcome.message, place });
      if (outcome.reason === "not_applied") {
        this.#stored = stored;
        break;
      }
    }
    await kernel.filter(closedTable(wireGuard.name));
    const isOver = this.#stored === undefined && !stored.isTrustStored;
    if (isOver && this.#trust !== undefined) await this.#holder.persistTrust(this.#trust);
  }

  /** Stores a resumed configuration wherever it is missing. */
  async #persistResumed(configuration: SignedConfiguration, stored: StoredState, isCopy: boolean): Promise<void> {
    const trust = this.#trust;
    if (trust === undefined) return;
    const isStored = !isCopy && stored.isTrustStored && stored.trust?.latest?.hash === trust.latest?.hash;
    if (isStored) await this.#holder.copy(configuration, trust);
    else await this.#holder.persist(configuration, trust);
  }

  async #apply(given: unknown, isNew: boolean): Promise<Outcome> {
    const { clock, log } = this.#parts;
    const failed = (reason: FailureReason, message: string): Outcome => {
      log("refused a configuration", { reason, detail: message });
      return { state: "failed", reason, message };
    };
    const checked = validateConfiguration(given);
    if ("problem" in checked) return failed("malformed", checked.problem);
    const trust = this.#trust;
    if (trust === undefined) return failed("forged", "This agent has no pinned signing key yet.");
    const { configuration } = checked;
    const { header } = configuration.envelope;
    const name = nameOf(header);
    const { signingKey, accepted } = expectedSigner(trust, name, isNew);
    const refusal = refusalOf(configuration, { ...trust, signingKey }, clock.now());
    if (refusal !== undefined) return failed(refusal.reason, refusal.message);
    if (this.enforces?.hash === name.hash) return { state: "applied", configuration: name };
    const previous = this.#enforced;
    try {
      await this.#enforce(configuration, previous);
    } catch (error) {
      await this.#limitOrRestore(configuration, previous);
      return failed("not_applied", errorMessage(error));
    }
    this.#trust = { ...accepted, gateway: header.gateway, tenant: header.tenant };
    if (isNew) await this.#holder.persist(configuration, this.#trust);
    if (isNew) log("applied a configuration", { generation: name.generation });
    await this.#holder.notify(configuration.content);
    return { state: "applied", configuration: name };
  }

  /** Applies the filters last. Until then, new peers reach nothing. */
  async #enforce(configuration: SignedConfiguration, previous: Enforced | undefined): Promise<void> {
    const { kernel, clock, forwarding } = this.#parts;
    const { content } = configuration;
    await this.#checkRoute();
    const { obstacle } = this.#route;
    if (obstacle !== undefined) throw new Error(obstacle);
    const enforced = enforcedFrom(configuration, forwarding, clock.now());
    const state = this.#table(enforced);
    await kernel.checkFilters(state);
    await kernel.forward();
    // At start, the filters come first: they replace those of an earlier run, and no tunnel is ever without filters.
    if (previous === undefined) await kernel.filter(state);
    await this.#tunnel(content);
    await kernel.filter(state);
    this.#enforced = enforced;
    this.#isOpen = false;
    this.#mustRetry = false;
    this.#setTimer();
  }

  /**
   * Takes away the access that a refused configuration does not allow, and restores the previous tunnel. If the kernel
   * also refuses the filters, the previous configuration is restored as a whole.
   */
  async #limitOrRestore(refused: SignedConfiguration, previous: Enforced | undefined): Promise<void> {
    const { kernel, wireGuard, forwarding, clock, log } = this.#parts;
    this.#enforced = previous;
    const served = this.#served;
    this.#mustRetry = true;
    try {
      if (previous === undefined) {
        await kernel.filter(closedTable(wireGuard.name));
      } else {
        const limited = limitedBy(previous, refused, forwarding, clock.now());
        const isLimited = await this.#filtersOf(limited).then(
          () => true,
          () => false,
        );
        if (isLimited) this.#enforced = limited;
        else await this.#filtersOf(previous);
        await this.#tunnel(isLimited ? limited.content : previous.content);
      }
      this.#mustRetry = false;
    } catch (err) {
      log("failed to restore the previous tunnel; will retry", { err, retryMs });
    }
    this.#setTimer();
    // While all traffic is dropped, nothing changes: the link would reconnect before it reports the failure.
    if (this.#served !== served) await this.#holder.notify(this.#served);
  }

  /** The content that devices can use; undefined: everything is dropped. */
  get #served(): ConfigurationContent | undefined {
    return this.#route.isClosed ? undefined : this.content;
  }

  async #filtersOf(enforced: Enforced): Promise<void> {
    await this.#parts.kernel.filter(this.#table(enforced));
  }

  /** Applies the passage of time and new addresses of names to the filters. */
  async #refreshFilters(): Promise<void> {
    const { kernel, clock, wireGuard, log } = this.#parts;
    const enforced = this.#enforced;
    if (enforced === undefined) return;
    if (enforced.expiresAt <= clock.now()) {
      const { generation } = enforced.configuration.envelope.header;
      log("configuration expired; dropping all traffic", { generation });
      await kernel.filter(closedTable(wireGuard.name));
      this.#enforced = undefined;
      await this.#holder.notify(undefined);
      return;
    }
    await this.#filtersOf(enforced);
  }

  /** Returns the desired table. */
  #table(enforced: Enforced): NftState {
    return this.#route.isClosed ? closedTable(this.#parts.wireGuard.name) : this.#openTable(enforced);
  }

  /** Returns the table for the addresses that names and hosts have now. It drops everything after the expiry. */
  #openTable({ policy, content }: Enforced): NftState {
    const { names, filter, hosts } = this.#parts;
    const named = names.named(content, filter.forFilters(content));
    return withNames(policy, content, named, (host) => hosts.addressesOf(host));
  }

  #setTimer(): void {
    const { clock } = this.#parts;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#isStopped) return;
    let waitMs = retryMs;
    if (!this.#mustRetry) {
      if (this.#enforced === undefined) return;
      // Time has passed since the policy was computed: the next change may be over already.
      waitMs = Math.min(Math.max(0, changesAt(this.#enforced) - clock.now()), longestWaitMs);
    }
    this.#cancelTimer = clock.after(waitMs, () => void this.#queue.run(() => this.#applyTime()));
  }

  /** Applies the passage of time, and what the kernel refused before. */
  async #applyTime(): Promise<void> {
    const { kernel, wireGuard, clock, log } = this.#parts;
    if (this.#isStopped) return;
    const enforced = this.#enforced;
    const now = clock.now();
    // The clock may have been set back.
    const isDue = enforced !== undefined && (now >= changesAt(enforced) || now < enforced.policyAt);
    if (isDue || this.#mustRetry) {
      try {
        if (enforced === undefined) await kernel.filter(closedTable(wireGuard.name));
        else await this.#enforceAt(enforced, now);
        this.#mustRetry = false;
      } catch (err) {
        this.#mustRetry = true;
        log("failed to apply the passage of time; will retry", { err, retryMs });
      }
    }
    this.#setTimer();
  }

  /** The filters end the access. The peers of ended sessions are removed afterwards. */
  async #enforceAt(enforced: Enforced, now: number): Promise<void> {
    const { content, policyAt } = enforced;
    this.#enforced = enforcedAt(enforced, this.#parts.forwarding, now);
    await this.#refreshFilters();
    if (this.#enforced === undefined) return;
    const isTunnelDue = endedDevices(content, policyAt).length !== endedDevices(content, now).length;
    if (isTunnelDue || this.#mustRetry) await this.#tunnel(content);
  }

  #scheduleCheck(delayMs: number): void {
    if (this.#isStopped) return;
    this.#cancelCheck = this.#parts.clock.after(delayMs, () => {
      this.#queue
        .run(() => this.#check())
        .then(
          () => this.#scheduleCheck(checkMs),
          (err: unknown) => {
            this.#parts.log("failed to check the filters and the tunnel; will retry", { err, retryMs });
            this.#scheduleCheck(retryMs);
          },
        );
    });
  }

  /**
   * Writes the table again. If the kernel refuses, nothing is enforced: the link then no longer reports the
   * configuration as applied.
   */
  async #restoreFilters(): Promise<void> {
    const { kernel, wireGuard } = this.#parts;
    try {
      if (this.#enforced === undefined) await kernel.filter(closedTable(wireGuard.name));
      else await this.#refreshFilters();
    } catch (error) {
      const wasOpen = this.#isOpen;
      this.#isOpen = true;
      if (!wasOpen) await this.#holder.notify(undefined);
      throw error;
    }
  }

  /** Restores what other programs removed. The filters come first: without them, all traffic passes. */
  async #check(): Promise<void> {
    const { kernel, wireGuard, clock, log } = this.#parts;
    if (this.#isStopped) return;
    if (this.#isOpen || !(await kernel.hasFilters())) {
      await this.#restoreFilters();
      this.#repairs.recordFilters();
      if (this.#isOpen && this.#served !== undefined) await this.#holder.notify(this.#served);
      this.#isOpen = false;
      log("restored the filters, which another program changed, for example with nft flush ruleset");
    }
    await this.#checkRoute();
    const enforced = this.#enforced;
    this.#checks += 1;
    if (enforced === undefined) {
      this.#repairs.clearProblems();
      if (this.#checks * checkMs < retryMs) return;
      this.#checks = 0;
      if (this.#stored !== undefined) {
        if (!this.#route.hasRival) await this.#resume(this.#stored);
      } else if (this.#trust !== undefined) await this.#holder.retry(undefined, this.#trust);
      return;
    }
    this.#stored = undefined;
    if (this.#checks * checkMs < repairMs && (await wireGuard.exists())) return;
    this.#checks = 0;
    const { configuration, content } = enforced;
    if (this.#trust !== undefined) await this.#holder.retry(configuration, this.#trust);
    if (this.#route.isClosed) return;
    await this.#repairs.record(kernel.repairTunnel(contentAt(content, clock.now())), log);
  }

  /** Drops all traffic while another gateway agent has the route to devices. */
  async #checkRoute(): Promise<void> {
    const { isClosed: wasClosed } = this.#route;
    const served = this.#served;
    try {
      await this.#route.check(() => this.#openState());
    } finally {
      // When the route is free, the link of an agent without a configuration reconnects, and gets one.
      const isReopened = wasClosed && !this.#route.isClosed;
      if (isReopened || this.#served !== served) await this.#holder.notify(this.#served);
    }
  }

  /** The state of the kernel when the tunnel opens again. */
  #openState(): OpenState | undefined {
    const enforced = this.#enforced;
    if (enforced === undefined) return undefined;
    return { content: contentAt(enforced.content, this.#parts.clock.now()), table: this.#openTable(enforced) };
  }
}
