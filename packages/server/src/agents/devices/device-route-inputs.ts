import {
  deployedGateways,
  type RoutedDevice,
  type RouteInputs,
  servingGateways,
} from "@gatehouse/policy/enforcement/device-routes";
import { isNewObservation, type Observation, withObservations } from "@gatehouse/policy/enforcement/device-sources";
import type { GatewayLink } from "@gatehouse/policy/enforcement/links";
import { withUsableKeys } from "@gatehouse/policy/enforcement/usable-keys";
import type { Model } from "@gatehouse/policy/model/model";
import {
  giveTunnelAddresses,
  type LinkRows,
  readDeviceLinkRows,
  readSomeLinkRows,
} from "../../agent-identity/link-facts.queries.ts";
import { gatewayLinkOf, routedDeviceOf } from "../../agent-identity/link-facts.ts";
import { identitiesOfDevices } from "../../features/devices/devices.api.ts";
import { readConfigurationLifeMs } from "../../features/tenant-settings/tenant-settings.api.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Evaluator } from "../../platform/evaluation/evaluator.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { ChangedRecords } from "../../platform/projection/changed-records.ts";
import { TenantProjection } from "../../platform/projection/tenant-projection.ts";
import { latestValidTime } from "../../platform/stored-times.ts";
import type { TenantModel, TenantModels } from "../../platform/tenancy/tenant-models.ts";
import type { MovedDevice } from "../sources/device-sources.ts";
import { ForwardingAddresses } from "../sources/forwarding-addresses.ts";

/** Types of records that may change the routes of any device. */
const concernsEverybody = [
  "address",
  "admission-rule",
  "group",
  "policy",
  "protocol",
  "resource",
  "tenant",
  "tenant-settings",
];

type Identities = Awaited<ReturnType<typeof identitiesOfDevices>>;

/** The devices whose routes may have changed. */
export interface Concerned {
  readonly everybody: boolean;
  readonly devices: ReadonlySet<string>;
  /** Users whose devices are concerned. */
  readonly users: ReadonlySet<string>;
  /** Gateways that are concerned, with the devices that have a route through them. */
  readonly gateways: ReadonlySet<string>;
}

export interface Refreshed {
  readonly concerned: Concerned;
  /** The identities of devices that changed or were read first; undefined for a device that was deleted. */
  readonly identities: readonly (readonly [deviceId: string, identity: ReturnType<Identities["get"]>])[];
}

/** The facts that the routes of a tenant's connected devices are computed from, kept up to date with its changes. */
export class DeviceRouteInputs {
  readonly #tenantId: string;
  readonly #database: Database;
  readonly #models: TenantModels;
  readonly #clock: Clock;
  readonly #evaluator: Pick<Evaluator, "decide">;
  readonly #projection = new TenantProjection();
  #current: TenantModel | undefined;
  readonly #devices = new Map<string, RoutedDevice>();
  /** Observations of devices that their facts do not reflect yet. */
  readonly #observed = new Map<string, Observation[]>();
  readonly #gateways = new Map<string, GatewayLink>();
  readonly #forwarding = new ForwardingAddresses();
  /** The gateways without keys that belong to other gateways. */
  #usable: ReadonlyMap<string, GatewayLink> = new Map();
  /** The prefix of the tenant's IPv6 tunnel addresses; undefined before the first address is assigned. */
  #prefix: string | undefined;
  #lifeMs = 0;
  #serving: ReadonlySet<string> = new Set();
  #deployed: ReadonlySet<string> = new Set();
  /** The number of refreshes. */
  #epoch = 0;
  /** The refresh in which each resource was last changed. */
  readonly #changedIn = new Map<string, number>();

  constructor(
    tenantId: string,
    { database, models, clock, evaluator }: Pick<CommandRunner, "database" | "models" | "clock" | "evaluator">,
  ) {
    this.#tenantId = tenantId;
    this.#database = database;
    this.#models = models;
    this.#clock = clock;
    this.#evaluator = evaluator;
  }

  get model(): Model {
    if (this.#current === undefined) throw new Error("the inputs have never been refreshed");
    return this.#current.model;
  }

  /** The tenant's generation that the model reflects. */
  get generation(): number {
    return this.#current?.generation ?? 0;
  }

  /** How long a configuration is valid without the control plane, in milliseconds. */
  get lifeMs(): number {
    return this.#lifeMs;
  }

  get routeInputs(): RouteInputs {
    return { devices: this.#devices, gateways: this.#usable };
  }

  /** The gateways that are in service and can be found. */
  get serving(): ReadonlySet<string> {
    return this.#serving;
  }

  get epoch(): number {
    return this.#epoch;
  }

  isChangedSince(resourceId: string, epoch: number): boolean {
    return (this.#changedIn.get(resourceId) ?? 0) > epoch;
  }

  /** Returns the source address that a device's own connection proves. */
  evidence(observed: string): string {
    return this.#forwarding.ofControlPlane(observed);
  }

  /** Takes a new source address of a device, for `settle`. @returns whether it is new */
  move(moved: MovedDevice): boolean {
    const device = this.#devices.get(moved.deviceId);
    if (device === undefined || !isNewObservation(device.sources, moved, this.#latest)) return false;
    const observed = this.#observed.get(moved.deviceId);
    if (observed === undefined) this.#observed.set(moved.deviceId, [moved]);
    else observed.push(moved);
    return true;
  }

  /** The facts of a device, with the observations so far. Its sources are copied here, once for many observations. */
  settle(deviceId: string): RoutedDevice | undefined {
    const device = this.#devices.get(deviceId);
    const observed = this.#observed.get(deviceId);
    if (device === undefined || observed === undefined) return device;
    this.#observed.delete(deviceId);
    const sources = withObservations(device.sources, observed, this.#latest);
    const settled = sources === device.sources ? device : { ...device, sources };
    this.#devices.set(deviceId, settled);
    return settled;
  }

  forget(deviceId: string): void {
    this.#devices.delete(deviceId);
    this.#observed.delete(deviceId);
  }

  /** Takes an entry of the outbox, for the next refresh. */
  changed(entry: OutboxEntry): void {
    this.#projection.changed(entry);
  }

  /** Entries of the outbox were missed: the next refresh reloads everything. */
  missed(): void {
    this.#projection.missed();
  }

  /**
   * Applies the collected changes, and reads the facts of devices that connected. Calls must not overlap.
   *
   * @param connected the ids of all connected devices
   * @param newcomers the devices among them whose facts have not been read
   * @throws AppError database_unavailable; the next call applies the same changes
   */
  async refresh(connected: readonly string[], newcomers: readonly string[]): Promise<Refreshed> {
    const known = new Set(connected);
    return this.#projection.advance({
      mustReload: false,
      read: () => this.#models.current(this.#tenantId),
      update: (current, changed) => {
        const changedDevices = [...changed.idsOf("device")].filter((id) => known.has(id));
        return this.#refresh(
          current,
          changed,
          [...new Set([...newcomers, ...changedDevices])],
          changed.idsOf("gateway"),
        );
      },
      reload: (current, changed) => this.#refresh(current, changed, connected, undefined),
    });
  }

  /**
   * @param deviceIds the devices to read
   * @param gatewayIds the gateways to read; undefined for all, in a reload
   */
  async #refresh(
    current: TenantModel,
    changed: ChangedRecords,
    deviceIds: readonly string[],
    gatewayIds: ReadonlySet<string> | undefined,
  ): Promise<Refreshed> {
    const { rows, identities } = await this.#read(deviceIds, gatewayIds);
    if (gatewayIds === undefined || changed.hasAnyOf(["tenant-settings"])) {
      const tenantId = this.#tenantId;
      this.#lifeMs = await this.#database.snapshot({ kind: "tenant", tenantId }, ({ query }) =>
        readConfigurationLifeMs({ tenantId, query }),
      );
    }
    const { INTERNET: policies } = current.model.policies;
    await this.#forwarding.follow(policies, (work) => this.#evaluator.decide(this.#tenantId, work));
    const movedGateways = this.#store(rows, deviceIds, gatewayIds);
    const before = this.#serving;
    this.#current = current;
    this.#epoch += 1;
    for (const id of changed.idsOf("resource")) this.#changedIn.set(id, this.#epoch);
    this.#serving = servingGateways(current.model, this.routeInputs);
    // Compares states instead of changes: the model may already reflect changes that are yet to be notified.
    const hasStarted = [...this.#serving].some((id) => !before.has(id));
    const deployedBefore = this.#deployed;
    this.#deployed = deployedGateways(current.model);
    // Devices block the addresses of a deployed gateway that is out of service.
    const hasDeployed = [...this.#deployed].some((id) => !deployedBefore.has(id));
    const stopped = [...before].filter((id) => !this.#serving.has(id));
    const hasRelayPorts = [...this.#gateways.values()].some(({ relayPort }) => relayPort !== null);
    // A relay is on no route itself, but devices try the relays in service first.
    const hasRelayStopped = stopped.some((id) => this.#gateways.get(id)?.relayEnabled === true);
    const everybody =
      gatewayIds === undefined ||
      changed.hasAnyOf(concernsEverybody) ||
      hasStarted ||
      hasDeployed ||
      (hasRelayPorts && (movedGateways.size > 0 || hasRelayStopped));
    return {
      concerned: {
        everybody,
        devices: changed.idsOf("device"),
        users: changed.idsOf("user"),
        gateways: new Set([...stopped, ...movedGateways]),
      },
      identities: deviceIds.map((id) => [id, identities.get(id)]),
    };
  }

  /** The latest time that an observation can have, in milliseconds since 1970. */
  get #latest(): number {
    return latestValidTime(this.#clock.now());
  }

  async #read(
    deviceIds: readonly string[],
    gatewayIds: ReadonlySet<string> | undefined,
  ): Promise<{ readonly rows: LinkRows; readonly identities: Identities }> {
    if (deviceIds.length === 0 && gatewayIds?.size === 0) {
      return { rows: { prefix: this.#prefix, devices: [], gateways: [] }, identities: new Map() };
    }
    const tenantId = this.#tenantId;
    const scope = { kind: "tenant", tenantId } as const;
    const read = () =>
      this.#database.snapshot(scope, async ({ query }) => {
        const [rows, identities] = await Promise.all([
          gatewayIds === undefined
            ? readDeviceLinkRows({ tenantId, query }, deviceIds)
            : readSomeLinkRows({ tenantId, query }, deviceIds, [...gatewayIds]),
          identitiesOfDevices({ tenantId, query }, deviceIds),
        ]);
        return { rows, identities };
      });
    const found = await read();
    if (found.rows.devices.length >= found.identities.size) return found;
    // Records that are older than tunnel addresses have none yet.
    await this.#database.transaction(scope, ({ query }) => giveTunnelAddresses({ tenantId, query }));
    return read();
  }

  /**
   * Stores the rows of the devices and gateways that were read. Those without a row are deleted.
   *
   * @returns the gateways that devices have to reach in another way than before
   */
  #store(
    { prefix, devices, gateways }: LinkRows,
    deviceIds: readonly string[],
    gatewayIds: ReadonlySet<string> | undefined,
  ): ReadonlySet<string> {
    this.#prefix = prefix ?? this.#prefix;
    const rows = new Map(devices.map((row) => [row.id, row]));
    for (const id of deviceIds) {
      const row = rows.get(id);
      if (row === undefined || this.#prefix === undefined) this.#devices.delete(id);
      else this.#devices.set(id, routedDeviceOf(row, this.#prefix, this.#latest));
    }
    const before = this.#usable;
    for (const id of gatewayIds ?? [...this.#gateways.keys()]) {
      this.#gateways.delete(id);
      this.#forwarding.delete(id);
    }
    for (const row of gateways) {
      this.#forwarding.set(row);
      if (this.#prefix !== undefined) this.#gateways.set(row.id, gatewayLinkOf(row, this.#prefix));
    }
    // A gateway whose key is free again changes with the gateway that claimed the key.
    this.#usable = withUsableKeys(new Map(this.#gateways));
    const hasChanged = (id: string) =>
      before.get(id) !== this.#usable.get(id) &&
      JSON.stringify(before.get(id)) !== JSON.stringify(this.#usable.get(id));
    return new Set([...(gatewayIds ?? []), ...this.#usable.keys()].filter(hasChanged));
  }
}
