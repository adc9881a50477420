/** The channel to devices, as far as this replica holds it (docs/decisions/0045-device-link.md, packages/agent-protocol/src/device/SPEC.md). */
import { createHash } from "node:crypto";
import type { DeviceMessage } from "@gatehouse/agent-protocol/device/frames";
import { defaultValidityMs } from "@gatehouse/agent-protocol/link/envelope";
import { findPresentedDevice } from "../../features/devices/devices.api.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import { TimeSlicedQueue } from "../../platform/concurrency/time-sliced-queue.ts";
import type { LinkListener, LinkReceiver, LinkTransport } from "../../platform/link-transport.ts";
import type { Log } from "../../platform/log.ts";
import type { OutboxEntry } from "../../platform/outbox/outbox.queries.ts";
import type { OutboxSubscriber } from "../../platform/outbox/outbox-follower.ts";
import { hashToken, isWholeToken, tokenPrefixes } from "../../platform/secrets/tokens.ts";
import { ConnectionGate, type LinkHost, type LinkLimits } from "../channel/connection-gate.ts";
import type { DeviceSources, MovedDevice, SourceFollower } from "../sources/device-sources.ts";
import { DeviceConnection, type PresentedDevice } from "./device-connection.ts";
import { TenantDevices } from "./tenant-devices.ts";

export interface DeviceLinksOptions {
  readonly runner: CommandRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly sources: DeviceSources;
  readonly limits?: Partial<LinkLimits> | undefined;
  /** How long configurations may be used without the control plane, in milliseconds; a day where absent. Replicas should agree. */
  readonly lifeMs?: number | undefined;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

export class DeviceLinks implements OutboxSubscriber, SourceFollower, LinkListener<PresentedDevice> {
  readonly #options: DeviceLinksOptions;
  readonly #door: ConnectionGate<DeviceMessage, DeviceConnection>;
  readonly #queue: TimeSlicedQueue;
  /** Those with devices that are connected here. */
  readonly #tenants = new Map<string, TenantDevices>();

  constructor(options: DeviceLinksOptions) {
    this.#options = options;
    const { clock, log, limits } = options;
    this.#door = new ConnectionGate({ clock, log, limits }, this.#host());
    this.#queue = new TimeSlicedQueue((error) => log.error({ err: error }, "a device link failed"));
  }

  /** Open connections, and devices among them that do not have yet what they should. */
  get state(): { readonly connections: number; readonly unsettled: number } {
    let unsettled = 0;
    for (const tenant of this.#tenants.values()) unsettled += tenant.unsettled;
    return { connections: this.#door.size, unsettled };
  }

  /**
   * Finds out whose token it is.
   *
   * @throws AppError invalid_device_token, too_many_links, database_unavailable
   */
  authenticate(token: string): Promise<PresentedDevice> {
    return this.#door.admit(async () => {
      if (!token.startsWith(tokenPrefixes.device) || !isWholeToken(token, tokenPrefixes.device)) {
        throw new AppError("invalid_device_token");
      }
      const hash = hashToken(token);
      const row = await findPresentedDevice(this.#options.runner.database, hash);
      if (row === undefined) throw new AppError("invalid_device_token");
      return { tenantId: row.tenant_id, deviceId: row.device_id, tokenHash: hash.toString("hex") };
    });
  }

  open(device: PresentedDevice, transport: LinkTransport, sourceAddress: string): LinkReceiver {
    const now = this.#options.clock.now().getTime();
    return this.#door.open(new DeviceConnection(device, transport, sourceAddress, now));
  }

  changed(entry: OutboxEntry): void {
    const tenant = this.#tenants.get(entry.tenantId);
    if (tenant === undefined) return;
    if (entry.changes.some(({ type, change }) => type === "tenant" && change === "deleted")) {
      this.#tenants.delete(entry.tenantId);
      tenant.abandon();
      return;
    }
    tenant.changed(entry);
  }

  missed(): void {
    for (const tenant of this.#tenants.values()) tenant.lost();
  }

  get tenantIds(): Iterable<string> {
    return this.#tenants.keys();
  }

  moved(tenantId: string, devices: readonly MovedDevice[]): void {
    this.#tenants.get(tenantId)?.moved(devices);
  }

  /** What time alone brings: silence, conditions of time, renewals, and what is to be tried again. Called every second or so. */
  tick(): void {
    this.#door.tick();
    for (const [id, tenant] of this.#tenants) {
      this.#door.dropSilent(tenant.connections);
      tenant.tick();
      if (tenant.size > 0) continue;
      this.#tenants.delete(id);
      tenant.abandon();
    }
  }

  /** Ends every connection; each is told when to come again, at different moments. */
  async close(): Promise<void> {
    this.#door.close();
    const jitterMs = () => this.#door.jitterMs();
    await Promise.all([...this.#tenants.values()].map((tenant) => tenant.stop(jitterMs)));
    this.#tenants.clear();
  }

  #host(): LinkHost<DeviceMessage, DeviceConnection> {
    return {
      joined: () => {
        let joined = 0;
        for (const { size } of this.#tenants.values()) joined += size;
        return joined;
      },
      join: async (connection, hello) => this.#tenantOf(connection).join(connection, hello),
      said: (connection, message) => this.#tenants.get(connection.device.tenantId)?.said(connection, message),
      left: (connection) => this.#tenants.get(connection.device.tenantId)?.left(connection),
      describe: ({ device: { tenantId, deviceId } }) => ({ tenantId, deviceId }),
    };
  }

  #tenantOf({ device: { tenantId } }: DeviceConnection): TenantDevices {
    const known = this.#tenants.get(tenantId);
    if (known !== undefined) return known;
    const { runner, clock, log, sources, lifeMs = defaultValidityMs } = this.#options;
    const jitterMs = () => this.#door.jitterMs();
    const tenant = new TenantDevices({
      tenantId,
      runner,
      clock,
      log,
      sources,
      sha256,
      queue: this.#queue,
      lifeMs,
      jitterMs,
    });
    this.#tenants.set(tenantId, tenant);
    return tenant;
  }
}
