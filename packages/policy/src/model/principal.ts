import type { CompiledPolicy } from "./compiled-policy.ts";
import type { DeviceFacts, UserFacts } from "./facts.ts";
import { bloomBitA, bloomBitB, hashOf, type Source } from "./source.ts";
import type { SourceIndex } from "./source-index.ts";

/**
 * A resolved subject: a user, with or without a device, or a site. Principals are cached with their user or device
 * until the user, the device or the groups change, because most of a decision's time is memory access.
 */
export class Principal implements Source {
  readonly userId: string;
  readonly groupIds: readonly string[];
  readonly deviceId: string | undefined;
  readonly hashes: readonly number[];
  readonly bloomA: number;
  readonly bloomB: number;
  /** Undefined for traffic that enters at a site. */
  readonly user: UserFacts | undefined;
  readonly device: DeviceFacts | undefined;
  /** Identifies the subject when gateways are balanced. */
  readonly key: string;
  /** Whether the user and the device may reach anything. */
  readonly isActive: boolean;
  /** The end of the device's session, in milliseconds since 1970. Infinity if no session limits the device. */
  readonly endsAt: number;
  #generation = 0;
  #policies: readonly CompiledPolicy[] = [];

  private constructor(
    user: UserFacts | undefined,
    groupIds: readonly string[],
    device: DeviceFacts | undefined,
    key: string,
  ) {
    this.userId = user === undefined ? "" : user.id;
    this.groupIds = groupIds;
    this.deviceId = device?.id;
    const ids = user === undefined ? [] : [user.id, ...groupIds];
    this.hashes = (device === undefined ? ids : [...ids, device.id]).map(hashOf);
    this.bloomA = this.hashes.reduce((bloomA, hash) => bloomA | bloomBitA(hash), 0);
    this.bloomB = this.hashes.reduce((bloomA, hash) => bloomA | bloomBitB(hash), 0);
    this.user = user;
    this.device = device;
    this.key = key;
    this.isActive = (user === undefined || user.status === "active") && (device === undefined || device.active);
    this.endsAt = device?.sessionEndsAt ?? Number.POSITIVE_INFINITY;
  }

  /** @param groupIds the user's groups that exist */
  static user(user: UserFacts, groupIds: readonly string[]): Principal {
    return new Principal(user, groupIds, undefined, user.id);
  }

  static site(gatewayId: string): Principal {
    return new Principal(undefined, [], undefined, gatewayId);
  }

  /** The same user with a device. */
  with(device: DeviceFacts): Principal {
    return new Principal(this.user, this.groupIds, device, device.id);
  }

  /** The result of `index.naming`, cached for the last index. */
  policiesOf(index: SourceIndex): readonly CompiledPolicy[] {
    if (this.#generation !== index.generation) {
      this.#generation = index.generation;
      this.#policies = index.naming(this);
    }
    return this.#policies;
  }
}
