/** What every gateway of one tenant has to enforce, kept up with the tenant's changes and with the time. */

import type { ContentTree } from "@gatehouse/agent-protocol/gateway/content-tree";
import { defaultValidityMs } from "@gatehouse/agent-protocol/link/envelope";
import type { LinkChange } from "@gatehouse/policy/enforcement/links";
import { type EnforcementChange, TenantEnforcement } from "@gatehouse/policy/enforcement/tenant-enforcement";
import type { Model } from "@gatehouse/policy/model/model";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { TenantModels } from "../../platform/tenancy/tenant-models.ts";
import type { MovedDevice } from "../sources/device-sources.ts";
import { giveTunnelAddresses, type LinkRows, readLinkRows, readSomeLinkRows } from "../tunnels/link-facts.queries.ts";
import { deviceLinkOf, gatewayLinkOf, linkFactsOf, usualDrainMs } from "../tunnels/link-facts.ts";

/** News of more records than this is no cheaper to follow than to begin anew. */
const mostChanges = 2_000;
/** After this share of its life, everything is made for a new one. */
const renewedAfter = 1 / 2;

export interface DesiredStateOptions {
  readonly tenantId: string;
  readonly database: Database;
  readonly models: TenantModels;
  readonly clock: Clock;
  /** How long configurations may be enforced without the control plane, in milliseconds. */
  readonly lifeMs?: number;
  /** How long connections that run may finish once their gateway is in maintenance, in milliseconds. */
  readonly drainMs?: number | undefined;
}

/** What became of a refreshing. */
export interface Refreshed {
  /** Gateways whose content is another one now; all of them where it was made anew. */
  readonly changed: readonly string[];
  /** Gateways that the news told of. */
  readonly told: readonly string[];
}

export class DesiredState {
  readonly #options: DesiredStateOptions;
  #enforcement: TenantEnforcement | undefined;
  #prefix: string | undefined;
  /** Up to which generation of the tenant contents follow. */
  #generation = 0;
  #news: OutboxEntry[] = [];
  /** Addresses by device. */
  #roaming = new Map<string, string>();
  /** Something changed of which nobody can say what. */
  #isLost = true;

  constructor(options: DesiredStateOptions) {
    this.#options = options;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Milliseconds since 1970: when contents hold, and the configurations that are made of them. */
  get life(): { readonly from: number; readonly until: number } | undefined {
    return this.#enforcement?.validity;
  }

  /** When contents have to be looked at again, though nothing else changes; milliseconds since 1970. */
  get staleAt(): number {
    const enforcement = this.#enforcement;
    if (enforcement === undefined) return 0;
    const { from, until } = enforcement.validity;
    return Math.min(enforcement.exactUntil, from + (until - from) * renewedAfter);
  }

  contentOf(gatewayId: string): ContentTree | undefined {
    return this.#enforcement?.contentOf(gatewayId);
  }

  /** The device with an address in the tunnel. */
  deviceIdAt(ipv4: string): string | undefined {
    return this.#deviceIds().get(ipv4);
  }

  sourceOf(deviceId: string): string | null | undefined {
    return this.#enforcement?.links.devices.get(deviceId)?.sourceIp;
  }

  /** The outbox told of it; to be taken in by the next `refresh`. */
  changed(entry: OutboxEntry): void {
    if (entry.generation > this.#generation) this.#news.push(entry);
  }

  /** Packets of devices come from other addresses now; to be taken in by the next `refresh`. */
  roamed(devices: readonly MovedDevice[]): void {
    for (const { deviceId, sourceIp } of devices) this.#roaming.set(deviceId, sourceIp);
  }

  lost(): void {
    this.#isLost = true;
  }

  /**
   * Takes in what is new. One at a time.
   *
   * @throws AppError database_unavailable; then it is to be called again
   */
  async refresh(): Promise<Refreshed> {
    const { models, tenantId, clock } = this.#options;
    const news = this.#news;
    const roaming = this.#roaming;
    this.#news = [];
    this.#roaming = new Map();
    const wasLost = this.#isLost || clock.now().getTime() >= this.staleAt;
    try {
      const { model, generation } = await models.current(tenantId);
      const enforcement = wasLost ? undefined : this.#enforcement;
      const next = news.filter((entry) => entry.generation > this.#generation);
      const isGapless = next.every((entry, index) => entry.generation === this.#generation + index + 1);
      const ids = idsIn(next);
      if (enforcement === undefined || !isGapless || ids.size > mostChanges) {
        return await this.#begin(model, generation, ids.gateways);
      }
      const changes = [...factChanges(model, ids), ...(await this.#linkChanges(ids)), ...this.#roamed(roaming)];
      if (changes.length === 0 && next.length === 0) return { changed: [], told: [] };
      this.#forgetDeviceIds();
      const changed = enforcement.update(model, changes, clock.now().getTime());
      this.#generation = next.at(-1)?.generation ?? this.#generation;
      return { changed, told: [...ids.gateways] };
    } catch (error) {
      this.#news = [...news, ...this.#news];
      this.#roaming = new Map([...roaming, ...this.#roaming]);
      this.#isLost ||= wasLost;
      throw error;
    }
  }

  /** @param generation of the model: whatever came later comes as news */
  async #begin(model: Model, generation: number, told: ReadonlySet<string>): Promise<Refreshed> {
    const { clock, lifeMs = defaultValidityMs, drainMs = usualDrainMs } = this.#options;
    this.#isLost = false;
    const rows = await this.#readAll(model);
    const from = clock.now().getTime();
    this.#prefix = rows.prefix;
    this.#forgetDeviceIds();
    this.#enforcement = new TenantEnforcement(model, linkFactsOf(rows, drainMs), { from, until: from + lifeMs });
    this.#generation = Number.isFinite(generation) ? generation : this.#generation;
    return { changed: Array.from(this.#enforcement.contents(), ([id]) => id), told: [...told] };
  }

  async #readAll(model: Model): Promise<LinkRows> {
    const rows = await this.#read(readLinkRows);
    const { devices, gateways } = rows;
    // There from before there were addresses, or written by another program.
    const isComplete = devices.length >= model.devices.size && gateways.length >= model.gateways.size;
    if (isComplete) return rows;
    await this.#give();
    return this.#read(readLinkRows);
  }

  async #linkChanges({ devices, gateways }: ChangedIds): Promise<LinkChange[]> {
    if (devices.size + gateways.size === 0) return [];
    const rows = await this.#read((tx) => readSomeLinkRows(tx, [...devices], [...gateways]));
    this.#prefix ??= rows.prefix;
    const prefix = this.#prefix;
    const { drainMs = usualDrainMs } = this.#options;
    const changes: LinkChange[] = [];
    const found = new Map(rows.devices.map((row) => [row.id, row]));
    for (const id of devices) {
      const row = found.get(id);
      const link = row === undefined || prefix === undefined ? undefined : deviceLinkOf(row, prefix);
      changes.push(link === undefined ? { kind: "device-link", gone: id } : { kind: "device-link", link });
    }
    const known = new Map(rows.gateways.map((row) => [row.id, row]));
    for (const id of gateways) {
      const row = known.get(id);
      const link = row === undefined || prefix === undefined ? undefined : gatewayLinkOf(row, prefix, drainMs);
      if (link === undefined) changes.push({ kind: "gateway-link", gone: id });
      else if (!isSame(link, this.#enforcement?.links.gateways.get(id))) changes.push({ kind: "gateway-link", link });
    }
    return changes;
  }

  #roamed(roaming: ReadonlyMap<string, string>): LinkChange[] {
    return [...roaming].flatMap(([deviceId, sourceIp]) => {
      const link = this.#enforcement?.links.devices.get(deviceId);
      return link === undefined || link.sourceIp === sourceIp
        ? []
        : [{ kind: "device-link" as const, link: { ...link, sourceIp } }];
    });
  }

  #idsByAddress: ReadonlyMap<string, string> | undefined;

  #deviceIds(): ReadonlyMap<string, string> {
    this.#idsByAddress ??= new Map(
      Array.from(this.#enforcement?.links.devices.values() ?? [], ({ ipv4, deviceId }) => [ipv4, deviceId]),
    );
    return this.#idsByAddress;
  }

  #forgetDeviceIds(): void {
    this.#idsByAddress = undefined;
  }

  #read<T>(work: (tx: Parameters<typeof readLinkRows>[0]) => Promise<T>): Promise<T> {
    const { database, tenantId } = this.#options;
    return database.snapshot({ kind: "tenant", tenantId }, ({ query }) => work({ tenantId, query }));
  }

  async #give(): Promise<void> {
    const { database, tenantId } = this.#options;
    await database.transaction({ kind: "tenant", tenantId }, ({ query }) => giveTunnelAddresses({ tenantId, query }));
  }
}

interface ChangedIds {
  readonly devices: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly gateways: ReadonlySet<string>;
  readonly size: number;
}

function idsIn(news: readonly OutboxEntry[]): ChangedIds {
  const sets = {
    device: new Set<string>(),
    user: new Set<string>(),
    group: new Set<string>(),
    gateway: new Set<string>(),
  };
  for (const { changes } of news) {
    for (const { type, id } of changes) if (Object.hasOwn(sets, type)) sets[type as keyof typeof sets].add(id); // just looked up
  }
  const { device: devices, user: users, group: groups, gateway: gateways } = sets;
  return { devices, users, groups, gateways, size: devices.size + users.size + groups.size + gateways.size };
}

/** Of policies and resources the enforcement sees by the model what is new. */
function factChanges(model: Model, { devices, users, groups }: ChangedIds): EnforcementChange[] {
  const change = (kind: "device" | "user" | "group", id: string, facts: object | undefined): EnforcementChange =>
    facts === undefined ? { kind, gone: id } : ({ kind, facts } as EnforcementChange); // facts of that kind, below
  return [
    ...Array.from(devices, (id) => change("device", id, model.devices.get(id)?.facts)),
    ...Array.from(users, (id) => change("user", id, model.users.get(id)?.facts)),
    ...Array.from(groups, (id) => change("group", id, model.groups.get(id))),
  ];
}

function isSame(a: object, b: object | undefined): boolean {
  return b !== undefined && JSON.stringify(a) === JSON.stringify(b);
}
