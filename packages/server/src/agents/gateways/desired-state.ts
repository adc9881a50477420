import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { contentForVersion } from "@gatehouse/agent-protocol/gateway/earlier-versions";
import type { LinkVersion } from "@gatehouse/agent-protocol/link/greeting";
import type { HashText } from "@gatehouse/agent-protocol/link/hash-tree";
import {
  type KeyClaim,
  type KeyClaimFault,
  type KnownKey,
  keyClaimFault,
  type LinkToken,
} from "@gatehouse/agent-protocol/link/key-proof";
import { changesSourceAt, isNewObservation, withObservations } from "@gatehouse/policy/enforcement/device-sources";
import type { LinkChange } from "@gatehouse/policy/enforcement/links";
import { type EnforcementChange, TenantEnforcement } from "@gatehouse/policy/enforcement/tenant-enforcement";
import { hashing } from "@gatehouse/policy/enforcement/tree-work";
import { type KeyFault, keyFault } from "@gatehouse/policy/enforcement/usable-keys";
import type { Model } from "@gatehouse/policy/model/model";
import { entryCost, forEach, type Work } from "@gatehouse/policy/work";
import {
  giveTunnelAddresses,
  type LinkRows,
  readLinkRows,
  readSomeLinkRows,
} from "../../agent-identity/link-facts.queries.ts";
import { convertingLinks, defaultDrainMs, deviceLinkOf, gatewayLinkOf } from "../../agent-identity/link-facts.ts";
import { readConfigurationLifeMs } from "../../features/tenant-settings/tenant-settings.api.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Evaluator } from "../../platform/evaluation/evaluator.ts";
import { knownKeyOf } from "../../platform/known-keys.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { ChangedRecords } from "../../platform/projection/changed-records.ts";
import { TenantProjection } from "../../platform/projection/tenant-projection.ts";
import { latestValidTime } from "../../platform/stored-times.ts";
import type { TenantModels } from "../../platform/tenancy/tenant-models.ts";
import { setBackToleranceMs } from "../channel/configuration-timing.ts";
import type { MovedDevice } from "../sources/device-sources.ts";
import { ForwardingAddresses } from "../sources/forwarding-addresses.ts";

/** After this share of its validity period, all content is computed for a new period. */
const renewedAfter = 1 / 2;
/** An observation of a source address, in units of work. */
const moveCost = 15;

export interface DesiredStateOptions {
  readonly tenantId: string;
  readonly database: Database;
  readonly models: TenantModels;
  readonly clock: Clock;
  readonly evaluator: Pick<Evaluator, "decide">;
  readonly sha256: HashText;
  /** The versions of a gateway's links, including those that arrive. */
  readonly versionsOf: (gatewayId: string) => ReadonlySet<LinkVersion>;
  /** How long a configuration is valid without the control plane, in milliseconds; the tenant's setting if absent. */
  readonly lifeMs?: number | undefined;
  /** How long open connections may last once their gateway is in maintenance, in milliseconds. */
  readonly drainMs?: number | undefined;
}

/** The result of a refresh. */
export interface Refreshed {
  /** The gateways whose content changed; after a reload, all of them. */
  readonly changed: readonly string[];
  /** The gateways whose records changed. */
  readonly named: readonly string[];
  /** Whether everything was loaded again, so that changes may have been missed. */
  readonly isReload: boolean;
}

/**
 * The content that each gateway of one tenant should enforce, kept up to date with the tenant's changes and with
 * time.
 */
export class DesiredState {
  readonly #options: DesiredStateOptions;
  readonly #projection = new TenantProjection();
  #enforcement: TenantEnforcement | undefined;
  /** The prefix of the tenant's IPv6 tunnel addresses; undefined before the first address is assigned. */
  #prefix: string | undefined;
  /** New observations of devices' source addresses. */
  #moved: MovedDevice[] = [];
  /** The keys of gateways, as stored. */
  #keys = new Map<string, KnownKey>();
  #forwarding = new ForwardingAddresses();
  /** The gateways whose keys were read before the first refresh. */
  readonly #learning = new Set<string>();
  /** Devices by IPv4 tunnel address; undefined until they are needed. */
  #idsByAddress: ReadonlyMap<string, string> | undefined;
  #isReloading = false;
  #isStopped = false;

  constructor(options: DesiredStateOptions) {
    this.#options = options;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The tenant's generation that the content reflects. */
  get generation(): number {
    return this.#projection.generation;
  }

  /** When configurations with this content are valid; undefined before the first refresh. */
  get validity(): { readonly from: number; readonly until: number } | undefined {
    return this.#enforcement?.validity;
  }

  /** When all content has to be computed again although no record changes, in milliseconds since 1970. */
  get #staleAt(): number {
    const enforcement = this.#enforcement;
    if (enforcement === undefined) return 0;
    const { from, until } = enforcement.validity;
    return Math.min(enforcement.exactUntil, from + (until - from) * renewedAfter);
  }

  /** Whether the time precedes the validity period of the content, because the clock was set back. */
  #isBeforeValidity(now: number): boolean {
    const from = this.#enforcement?.validity.from ?? now;
    return now < from - setBackToleranceMs;
  }

  /** When `refresh` must be called although no record changes, in milliseconds since 1970. */
  get dueAt(): number {
    return Math.min(this.#staleAt, this.#enforcement?.nextSessionEnd ?? Number.POSITIVE_INFINITY);
  }

  /** Whether `refresh` must be called although no record changes. */
  isDueAt(now: number): boolean {
    return now >= this.dueAt || this.#isBeforeValidity(now);
  }

  contentOf(gatewayId: string): ContentTree | undefined {
    return this.#enforcement?.contentOf(gatewayId);
  }

  /** Prepares the current content of a gateway for a link of a version. */
  async prepare(gatewayId: string, version: LinkVersion): Promise<void> {
    const content = this.contentOf(gatewayId);
    if (content !== undefined) await this.#perform(hashing(contentForVersion(content, version), this.#options.sha256));
  }

  /** @param ipv4 an address in the tunnel */
  deviceIdAt(ipv4: string): string | undefined {
    this.#idsByAddress ??= new Map(
      Array.from(this.#enforcement?.links.devices.values() ?? [], (link) => [link.ipv4, link.deviceId]),
    );
    return this.#idsByAddress.get(ipv4);
  }

  /** Returns the source address that an observation of a gateway proves. */
  evidence(deviceId: string, gatewayId: string, observed: string): string {
    const own = this.#enforcement?.links.devices.get(deviceId)?.sources.controlPlane?.address;
    return this.#forwarding.ofGateway(gatewayId, observed, own);
  }

  /** Whether an observation of a gateway changes the source address that counts at the gateway. */
  isMove({ deviceId, gatewayId, source }: MovedDevice & { readonly gatewayId: string }): boolean {
    const link = this.#enforcement?.links.devices.get(deviceId);
    return link !== undefined && changesSourceAt(link.sources, gatewayId, source, this.#latest);
  }

  /** Checks a key that a gateway reports. @returns undefined if the gateway may have it */
  keyFault(gatewayId: string, claim: KeyClaim, token: LinkToken): KeyFault | KeyClaimFault | undefined {
    const links = this.#enforcement?.links;
    const fault = links === undefined ? undefined : keyFault(gatewayId, claim.publicKey, links);
    return fault ?? keyClaimFault(this.#keys.get(gatewayId) ?? noKey, claim, token, this.#now);
  }

  /**
   * Confirms a fault of a claimed key. The token may be newer than the known key: the key may have been stored with the
   * token while the token was the current one.
   */
  async confirmedKeyFault<Fault extends KeyFault | KeyClaimFault>(
    gatewayId: string,
    claim: KeyClaim,
    token: LinkToken,
    fault: Fault | undefined,
  ): Promise<Fault | KeyClaimFault | undefined> {
    if (fault !== "former_token") return fault;
    const { gateways } = await this.#read((tx) => readSomeLinkRows(tx, [], [gatewayId]));
    const [row] = gateways;
    return keyClaimFault(row === undefined ? noKey : knownKeyOf(row), claim, token, this.#now);
  }

  /** Reads the key of a gateway before the first refresh, for `replacedKeyFault`. Reads it once. */
  async learnKey(gatewayId: string): Promise<void> {
    if (this.#enforcement !== undefined || this.#learning.has(gatewayId)) return;
    this.#learning.add(gatewayId);
    try {
      const { gateways } = await this.#read((tx) => readSomeLinkRows(tx, [], [gatewayId]));
      // The first refresh has read all keys, at a later time.
      if (this.#enforcement !== undefined) return;
      for (const row of gateways) this.#keys.set(row.id, knownKeyOf(row));
    } catch (error) {
      this.#learning.delete(gatewayId);
      throw error;
    }
  }

  /** Checks the key of an earlier connection. @returns undefined if the gateway may have it, or is unknown */
  replacedKeyFault(gatewayId: string, claim: KeyClaim, token: LinkToken): KeyClaimFault | undefined {
    const known = this.#keys.get(gatewayId);
    return known === undefined ? undefined : keyClaimFault(known, claim, token, this.#now);
  }

  /** Takes an entry of the outbox, for the next refresh. */
  changed(entry: OutboxEntry): void {
    // The lifetime of configurations belongs to all content.
    if (entry.changes.some(({ type }) => type === "tenant-settings")) this.#projection.missed();
    this.#projection.changed(entry);
  }

  /** Takes new source addresses of devices, for the next refresh. @returns whether there are any */
  moved(devices: readonly MovedDevice[]): boolean {
    const links = this.#enforcement?.links.devices;
    const latest = this.#latest;
    const isChange = (moved: MovedDevice) => {
      const link = links?.get(moved.deviceId);
      return link !== undefined && isNewObservation(link.sources, moved, latest);
    };
    // The rows that a reload has read may be older. The refresh after it compares these addresses with the new links.
    const changed = this.#isReloading ? devices : devices.filter(isChange);
    for (const moved of changed) this.#moved.push(moved);
    return changed.length > 0;
  }

  /** Entries of the outbox were missed: the next refresh reloads everything. */
  missed(): void {
    this.#projection.missed();
  }

  /**
   * Applies the collected changes. Calls must not overlap.
   *
   * @throws AppError database_unavailable; the next call applies the same changes
   */
  async refresh(): Promise<Refreshed> {
    const { models, tenantId, clock } = this.#options;
    const now = clock.now().getTime();
    const moved = this.#moved;
    this.#moved = [];
    try {
      return await this.#projection.advance({
        mustReload: now >= this.#staleAt || this.#isBeforeValidity(now),
        read: () => models.current(tenantId),
        update: ({ model }, changed) => this.#update(model, changed, moved),
        reload: ({ model }, changed) => {
          this.#isReloading = true;
          return this.#reload(model, changed);
        },
      });
    } catch (error) {
      this.#moved = [...moved, ...this.#moved];
      throw error;
    } finally {
      this.#isReloading = false;
    }
  }

  async #update(model: Model, changed: ChangedRecords, moved: readonly MovedDevice[]): Promise<Refreshed> {
    const { INTERNET: policies } = model.policies;
    await this.#forwarding.follow(policies, (work) => this.#perform(work));
    // Rows are read after addresses were observed, so they come last: they may have another key than the current link.
    const moves = moved.length === 0 ? [] : await this.#perform(this.#findingMoves(moved));
    const changes = [...factChanges(model, changed), ...moves, ...(await this.#linkChanges(changed))];
    const now = this.#options.clock.now().getTime();
    const hasChanged = changes.length + changed.size > 0 || now >= (this.#enforcement?.nextSessionEnd ?? now + 1);
    if (!hasChanged || this.#enforcement === undefined) return { changed: [], named: [], isReload: false };
    try {
      const updating = this.#enforcement.updating(model, changes, now, (...content) => this.#preparing(...content));
      return { changed: await this.#perform(updating), named: [...changed.idsOf("gateway")], isReload: false };
    } catch (error) {
      // The enforcement contains only some of the changes.
      this.#projection.missed();
      throw error;
    } finally {
      // Devices keep their addresses in the tunnel when they move.
      if (changed.size > 0) this.#idsByAddress = undefined;
    }
  }

  async #reload(model: Model, changed: ChangedRecords): Promise<Refreshed> {
    const { clock, drainMs = defaultDrainMs } = this.#options;
    const lifeMs = this.#options.lifeMs ?? (await this.#read(readConfigurationLifeMs));
    const rows = await this.#readAll(model);
    const from = clock.now().getTime();
    const links = await this.#perform(convertingLinks(rows, this.#latest, drainMs));
    const forwarding = new ForwardingAddresses(rows.gateways);
    await forwarding.follow(model.policies.INTERNET, (work) => this.#perform(work));
    const enforcement = await this.#perform(
      TenantEnforcement.composing(model, links, { from, until: from + lifeMs }, (...content) =>
        this.#preparing(...content),
      ),
    );
    this.#prefix = rows.prefix;
    this.#idsByAddress = undefined;
    this.#enforcement = enforcement;
    this.#keys = new Map(rows.gateways.map((row) => [row.id, knownKeyOf(row)]));
    this.#forwarding = forwarding;
    const everyGateway = Array.from(enforcement.contents(), ([id]) => id);
    return { changed: everyGateway, named: [...changed.idsOf("gateway")], isReload: true };
  }

  /**
   * Computes the hashes of a gateway's content if the gateway is connected, so that its configuration is made in a
   * short time.
   */
  *#preparing(gatewayId: string, content: ContentTree): Work<void> {
    for (const version of this.#options.versionsOf(gatewayId)) {
      yield* hashing(contentForVersion(content, version), this.#options.sha256);
    }
  }

  /** Ends work that is in progress at its next pause, with an error. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Performs work in slices. Requests and the work of other tenants run in between. */
  #perform<Result>(work: Work<Result>): Promise<Result> {
    return this.#options.evaluator.decide(this.#options.tenantId, this.#untilStopped(work));
  }

  *#untilStopped<Result>(work: Work<Result>): Work<Result> {
    for (;;) {
      if (this.#isStopped) throw new Error("The desired state was stopped.");
      const step = work.next();
      if (step.done === true) return step.value;
      yield step.value;
    }
  }

  async #readAll(model: Model): Promise<LinkRows> {
    const rows = await this.#read(readLinkRows);
    const { devices, gateways } = rows;
    // Records that are older than tunnel addresses, or that another program wrote, have none yet.
    if (devices.length >= model.devices.size && gateways.length >= model.gateways.size) return rows;
    await this.#assignAddresses();
    return this.#read(readLinkRows);
  }

  async #linkChanges(changed: ChangedRecords): Promise<LinkChange[]> {
    const { drainMs = defaultDrainMs } = this.#options;
    const [devices, gateways] = [changed.idsOf("device"), changed.idsOf("gateway")];
    if (devices.size + gateways.size === 0) return [];
    const rows = await this.#read((tx) => readSomeLinkRows(tx, [...devices], [...gateways]));
    this.#prefix ??= rows.prefix;
    const prefix = this.#prefix;
    const deviceRows = new Map(rows.devices.map((row) => [row.id, row]));
    const gatewayRows = new Map(rows.gateways.map((row) => [row.id, row]));
    const changes: LinkChange[] = [];
    for (const id of devices) {
      const row = deviceRows.get(id);
      const link = row === undefined || prefix === undefined ? undefined : deviceLinkOf(row, prefix, this.#latest);
      changes.push(link === undefined ? { kind: "device-link", gone: id } : { kind: "device-link", link });
    }
    for (const id of gateways) {
      const row = gatewayRows.get(id);
      const link = row === undefined || prefix === undefined ? undefined : gatewayLinkOf(row, prefix, drainMs);
      if (row === undefined) {
        this.#keys.delete(id);
        this.#forwarding.delete(id);
      } else {
        this.#keys.set(id, knownKeyOf(row));
        this.#forwarding.set(row);
      }
      if (link === undefined) changes.push({ kind: "gateway-link", gone: id });
      else if (!isEqual(link, this.#enforcement?.links.gateways.get(id))) changes.push({ kind: "gateway-link", link });
    }
    return changes;
  }

  *#findingMoves(moved: readonly MovedDevice[]): Work<LinkChange[]> {
    const byDevice = new Map<string, MovedDevice[]>();
    yield* forEach(moved, moveCost, (each) => {
      const own = byDevice.get(each.deviceId);
      if (own === undefined) byDevice.set(each.deviceId, [each]);
      else own.push(each);
    });
    const changes: LinkChange[] = [];
    const latest = this.#latest;
    const links = this.#enforcement?.links.devices;
    const costOf = ([id, own]: readonly [string, readonly MovedDevice[]]) =>
      moveCost * own.length + entryCost * (links?.get(id)?.sources.gateways.size ?? 0);
    yield* forEach(byDevice, costOf, ([id, own]) => {
      const link = links?.get(id);
      if (link === undefined) return;
      const sources = withObservations(link.sources, own, latest);
      if (sources !== link.sources) changes.push({ kind: "device-link", link: { ...link, sources } });
    });
    return changes;
  }

  /** Milliseconds since 1970. */
  get #now(): number {
    return this.#options.clock.now().getTime();
  }

  /** The latest time that an observation can have, in milliseconds since 1970. */
  get #latest(): number {
    return latestValidTime(this.#options.clock.now());
  }

  #read<T>(work: (tx: Parameters<typeof readLinkRows>[0]) => Promise<T>): Promise<T> {
    const { database, tenantId } = this.#options;
    return database.snapshot({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }

  async #assignAddresses(): Promise<void> {
    const { database, tenantId } = this.#options;
    await database.transaction({ kind: "tenant", tenantId }, ({ query }) => giveTunnelAddresses({ tenantId, query }));
  }
}

/** The key of a gateway that is new, or that this replica does not know yet. */
const noKey: KnownKey = { publicKey: undefined, isProved: false, resetUntil: undefined };

/** The changed facts of devices, users and groups. Changed policies and resources show in the model itself. */
function factChanges(model: Model, changed: ChangedRecords): EnforcementChange[] {
  const change = (kind: "device" | "user" | "group", id: string, facts: object | undefined): EnforcementChange =>
    facts === undefined ? { kind, gone: id } : ({ kind, facts } as EnforcementChange); // facts of that kind, below
  return [
    ...Array.from(changed.idsOf("device"), (id) => change("device", id, model.devices.get(id)?.facts)),
    ...Array.from(changed.idsOf("user"), (id) => change("user", id, model.users.get(id)?.facts)),
    ...Array.from(changed.idsOf("group"), (id) => change("group", id, model.groups.get(id))),
  ];
}

function isEqual(one: object, other: object | undefined): boolean {
  return other !== undefined && JSON.stringify(one) === JSON.stringify(other);
}
