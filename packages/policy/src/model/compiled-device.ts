import type { CompiledUser } from "./compiled-user.ts";
import type { DeviceFacts, GroupFacts, Properties } from "./facts.ts";
import type { Principal } from "./principal.ts";
import type { Table } from "./table.ts";

/** A device, ready to ask for access for its user. */
export class CompiledDevice {
  readonly facts: DeviceFacts;
  readonly userId: string | null;
  #users = 0;
  #groups = 0;
  #principal: Principal | undefined;
  #forRules: object | undefined;

  constructor(facts: DeviceFacts) {
    this.facts = facts;
    this.userId = facts.userId;
  }

  /** The device's user with the device; undefined where there is no such user. */
  principalIn(users: Table<CompiledUser>, groups: Table<GroupFacts>): Principal | undefined {
    if (this.#users === users.generation && this.#groups === groups.generation) return this.#principal;
    const user = this.userId === null ? undefined : users.get(this.userId);
    // Other users change all the time.
    const isSame = this.#groups === groups.generation && this.#principal?.user === user?.facts;
    if (!isSame) this.#principal = user?.principalIn(groups).with(this.facts);
    this.#users = users.generation;
    this.#groups = groups.generation;
    return this.#principal;
  }

  /** The variable `device` of admission rules. */
  get forRules(): object {
    this.#forRules ??= this.forRulesWith(this.facts.posture);
    return this.#forRules;
  }

  /** The same with a posture that a request gives in place of the stored one; its names may be any. */
  forRulesWith(posture: Properties): object {
    const { name, os, osVersion, appVersion, hardwareId } = this.facts;
    return { name, os, osVersion, appVersion, hardwareId, posture: new Map(Object.entries(posture)) };
  }
}
