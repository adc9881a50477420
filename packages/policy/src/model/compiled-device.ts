import type { RuleSession } from "../admission-rules/evaluate-rule.ts";
import type { CompiledUser } from "./compiled-user.ts";
import type { DeviceFacts, GroupFacts, Properties } from "./facts.ts";
import type { Principal } from "./principal.ts";
import type { Table } from "./table.ts";

/** A device, prepared for decisions. */
export class CompiledDevice {
  readonly facts: DeviceFacts;
  readonly userId: string | null;
  /** The variable `session` of admission rules. Undefined without a session. */
  readonly sessionForRules: RuleSession | undefined;
  #users = 0;
  #groups = 0;
  #principal: Principal | undefined;
  #forRules: object | undefined;

  constructor(facts: DeviceFacts) {
    this.facts = facts;
    this.userId = facts.userId;
    this.sessionForRules = sessionOf(facts);
  }

  /** The device's user with this device. Undefined if the user does not exist. */
  principalIn(users: Table<CompiledUser>, groups: Table<GroupFacts>): Principal | undefined {
    if (this.#users === users.generation && this.#groups === groups.generation) return this.#principal;
    const user = this.userId === null ? undefined : users.get(this.userId);
    // The table changes with any user, so compare this user.
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

  /**
   * The variable `device` with a posture from the request instead of the stored one. The posture may contain any names.
   */
  forRulesWith(posture: Properties): object {
    const { name, os, osVersion, appVersion, hardwareId, tags, agent } = this.facts;
    const facts = { name, os, osVersion, appVersion, hardwareId, tags: [...tags], agent };
    return { ...facts, posture: new Map(Object.entries(posture)) };
  }
}

function sessionOf({ session }: DeviceFacts): RuleSession | undefined {
  if (session === undefined || session === null) return undefined;
  const { authenticatedAt, methods, provider } = session;
  return { authenticatedAt, methods: [...methods], ...(provider === null ? {} : { provider }) };
}
