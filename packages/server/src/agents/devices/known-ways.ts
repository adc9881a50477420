/** What the ways of a tenant's connected devices are worked out from, kept up with the tenant's changes; and whom a change concerns. */
import { type RoutedDevice, type RouteInputs, servingGateways } from "@gatehouse/policy/enforcement/device-routes";
import type { GatewayLink } from "@gatehouse/policy/enforcement/links";
import type { Model } from "@gatehouse/policy/model/model";
import { identitiesOfDevices } from "../../features/devices/devices.api.ts";
import type { Database } from "../../platform/db/database.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { TenantModels } from "../../platform/tenancy/tenant-models.ts";
import {
  type DeviceLinkRow,
  giveTunnelAddresses,
  type LinkRows,
  readDeviceLinkRows,
  readSomeLinkRows,
} from "../tunnels/link-facts.queries.ts";
import { deviceWayOf, gatewayLinkOf } from "../tunnels/link-facts.ts";

/** Changes of these may concern anybody. */
const concernsAnybody: ReadonlySet<string> = new Set([
  "address",
  "admission-rule",
  "group",
  "policy",
  "protocol",
  "resource",
  "tenant",
]);

export interface Refresh {
  readonly news: readonly OutboxEntry[];
  /** The ids of all connected devices. */
  readonly connected: readonly string[];
  /** Those of them that are new. */
  readonly unread: readonly string[];
  /** Whether nobody can say what changed. */
  readonly all: boolean;
}

type Identities = Awaited<ReturnType<typeof identitiesOfDevices>>;

/** Whose ways may be others now. */
export interface Concerned {
  readonly everybody: boolean;
  readonly devices: ReadonlySet<string>;
  /** Those of these users. */
  readonly users: ReadonlySet<string>;
  /** Those on their way through these gateways. */
  readonly gateways: ReadonlySet<string>;
}

export interface Refreshed {
  readonly concerned: Concerned;
  /** Who those are that changed or are new; undefined for one that is gone. */
  readonly identities: readonly (readonly [deviceId: string, identity: ReturnType<Identities["get"]>])[];
}

export class KnownWays {
  readonly #tenantId: string;
  readonly #database: Database;
  readonly #models: TenantModels;
  #model: Model | undefined;
  #generation = 0;
  readonly #devices = new Map<string, RoutedDevice>();
  readonly #gateways = new Map<string, GatewayLink>();
  #prefix: string | undefined;
  #serving: ReadonlySet<string> = new Set();
  /** Raised by each refreshing. */
  #epoch = 0;
  /** In which refreshing a resource was last changed, where it ever was. */
  readonly #changedIn = new Map<string, number>();
  #hasGateways = false;

  constructor(tenantId: string, database: Database, models: TenantModels) {
    this.#tenantId = tenantId;
    this.#database = database;
    this.#models = models;
  }

  get model(): Model {
    if (this.#model === undefined) throw new Error("nothing is known before the first refreshing");
    return this.#model;
  }

  get ways(): RouteInputs {
    return { devices: this.#devices, gateways: this.#gateways };
  }

  /** The gateways that carry anything now. */
  get serving(): ReadonlySet<string> {
    return this.#serving;
  }

  /** Of the tenant. */
  get generation(): number {
    return this.#generation;
  }

  get epoch(): number {
    return this.#epoch;
  }

  isChangedSince(resourceId: string, epoch: number): boolean {
    return (this.#changedIn.get(resourceId) ?? 0) > epoch;
  }

  /** @returns whether the device was not known to be there */
  move(deviceId: string, sourceIp: string): boolean {
    const way = this.#devices.get(deviceId);
    if (way === undefined || way.sourceIp === sourceIp) return false;
    this.#devices.set(deviceId, { ...way, sourceIp });
    return true;
  }

  forget(deviceId: string): void {
    this.#devices.delete(deviceId);
  }

  /**
   * Takes in what is new. One at a time.
   *
   * @throws AppError database_unavailable; then it is to be called again with the same
   */
  async refresh({ news, connected, unread, all }: Refresh): Promise<Refreshed> {
    const ids = idsIn(news);
    const { model, generation } = await this.#models.current(this.#tenantId);
    const isWhole = all || !this.#hasGateways;
    const known = new Set(connected);
    const named = isWhole ? connected : [...new Set([...unread, ...[...ids.devices].filter((id) => known.has(id))])];
    const { rows, identities } = await this.#read(named, isWhole ? undefined : [...ids.gateways]);
    const others = this.#take(rows, named, isWhole ? undefined : ids.gateways);
    const before = this.#serving;
    this.#hasGateways = true;
    this.#model = model;
    this.#generation = generation;
    this.#epoch += 1;
    for (const id of ids.resources) this.#changedIn.set(id, this.#epoch);
    this.#serving = servingGateways(model, this.ways);
    // By what is, not by the news alone: the model may know already what the news is yet to tell.
    const came = [...this.#serving].some((id) => !before.has(id));
    const left = [...before].filter((id) => !this.#serving.has(id));
    const hasRelays = [...this.#gateways.values()].some(({ relayPort }) => relayPort !== null);
    // On nobody's way themselves; devices try those that are in service first.
    const relayLeft = left.some((id) => this.#gateways.get(id)?.relayEnabled === true);
    return {
      concerned: {
        everybody: isWhole || ids.concernsAnybody || came || (hasRelays && (others.size > 0 || relayLeft)),
        devices: ids.devices,
        users: ids.users,
        gateways: new Set([...left, ...others]),
      },
      identities: named.map((id) => [id, identities.get(id)]),
    };
  }

  async #read(
    deviceIds: readonly string[],
    gatewayIds: readonly string[] | undefined,
  ): Promise<{ readonly rows: LinkRows; readonly identities: Identities }> {
    if (deviceIds.length === 0 && gatewayIds?.length === 0) {
      return { rows: { prefix: this.#prefix, devices: [], gateways: [] }, identities: new Map() };
    }
    const scope = { kind: "tenant", tenantId: this.#tenantId } as const;
    const { tenantId } = scope;
    const read = () =>
      this.#database.snapshot(scope, async ({ query }) => {
        const [rows, identities] = await Promise.all([
          gatewayIds === undefined
            ? readDeviceLinkRows({ tenantId, query }, deviceIds)
            : readSomeLinkRows({ tenantId, query }, deviceIds, gatewayIds),
          identitiesOfDevices({ tenantId, query }, deviceIds),
        ]);
        return { rows, identities };
      });
    const found = await read();
    if (found.rows.devices.length >= found.identities.size) return found;
    // There from before there were addresses.
    await this.#database.transaction(scope, ({ query }) => giveTunnelAddresses({ tenantId, query }));
    return read();
  }

  /**
   * @param gateways those that the rows tell of; undefined: all
   * @returns those of them that are to be met in another way than before
   */
  #take(
    { prefix, devices, gateways: found }: LinkRows,
    named: readonly string[],
    gateways?: ReadonlySet<string>,
  ): ReadonlySet<string> {
    this.#prefix = prefix ?? this.#prefix;
    const rows = new Map(devices.map((row) => [row.id, row]));
    for (const id of named) this.#setDevice(id, rows.get(id));
    const before = new Map(this.#gateways);
    for (const id of gateways ?? before.keys()) this.#gateways.delete(id);
    for (const row of found) {
      if (this.#prefix !== undefined) this.#gateways.set(row.id, gatewayLinkOf(row, this.#prefix));
    }
    const isOther = (id: string) => JSON.stringify(before.get(id)) !== JSON.stringify(this.#gateways.get(id));
    return new Set([...(gateways ?? this.#gateways.keys())].filter(isOther));
  }

  #setDevice(id: string, row: DeviceLinkRow | undefined): void {
    if (row === undefined || this.#prefix === undefined) this.#devices.delete(id);
    else this.#devices.set(id, deviceWayOf(row, this.#prefix));
  }
}

interface ChangedIds {
  readonly devices: ReadonlySet<string>;
  readonly users: ReadonlySet<string>;
  readonly gateways: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  readonly concernsAnybody: boolean;
}

function idsIn(news: readonly OutboxEntry[]): ChangedIds {
  const sets = {
    device: new Set<string>(),
    user: new Set<string>(),
    gateway: new Set<string>(),
    resource: new Set<string>(),
  };
  let isForAnybody = false;
  for (const { changes } of news) {
    for (const { type, id } of changes) {
      isForAnybody ||= concernsAnybody.has(type);
      if (Object.hasOwn(sets, type)) sets[type as keyof typeof sets].add(id); // just looked up
    }
  }
  const { device: devices, user: users, gateway: gateways, resource: resources } = sets;
  return { devices, users, gateways, resources, concernsAnybody: isForAnybody };
}
