import type { CompiledPolicy } from "./compiled-policy.ts";
import type { DeviceFacts, UserFacts } from "./facts.ts";
import { bloomBitA, bloomBitB, hashOf, type Source } from "./source.ts";
import type { SourceIndex } from "./source-index.ts";

/**
 * Who asks, as found in a model: a user, with or without a device, or a site. Made once for a user or device and kept with it as long
 * as the user, the device and the groups stay the same, because a decision's cost is mostly that of reaching for what it reads.
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
  /** Names the subject, for the spread over gateways. */
  readonly key: string;
  /** Whether the user and the device may reach anything at all. */
  readonly isActive: boolean;
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
  }

  /** @param groupIds those of the user's groups that there are */
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

  /** What `index.naming` gives, looked up once for the same index as the last time. */
  policiesOf(index: SourceIndex): readonly CompiledPolicy[] {
    if (this.#generation !== index.generation) {
      this.#generation = index.generation;
      this.#policies = index.naming(this);
    }
    return this.#policies;
  }
}
