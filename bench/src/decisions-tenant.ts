/** A large tenant for measuring decisions, the same in each run, with questions about it. */
import type { AccessRequest } from "@gatehouse/policy/decisions/request";
import type { PolicyFacts, TenantFacts } from "@gatehouse/policy/model/facts";

export const sizes = { users: 100_000, groups: 2_000, devices: 150_000, resources: 10_000, policies: 10_000 };

/** The tenant's admission rules. Each peer has the same rules in its own language, translated by hand. */
export const ruleTexts = {
  engineersOnEncrypted: 'user.department == "Engineering" && device.posture.diskEncrypted == true',
  knownSystem: 'device.os in ["macOS", "Windows"]',
  seniority: "user.level >= 3",
  fromGermany: 'source.country == "DE" || user.level > 5',
  workingHours: 'now.getHours("Europe/Berlin") >= 8 && now.getHours("Europe/Berlin") < 18',
} as const;
export type RuleName = keyof typeof ruleTexts;
export const ruleNames = Object.keys(ruleTexts) as RuleName[]; // they are its only keys

/** The time of all questions: a Wednesday, noon in Berlin. */
const now = Date.UTC(2026, 5, 10, 10);
export const berlinHour = 12;

export type Directory = Omit<TenantFacts, "policies">;

export interface Question extends AccessRequest {
  readonly subject: { readonly kind: "user"; readonly userId: string; readonly deviceId: string };
  readonly destination: { readonly kind: "resource"; readonly resourceId: string };
  readonly country: string;
}

/**
 * Adds denying policies first and without rules. In this order, Gatehouse's "the first that applies decides" and the
 * peers' "any that denies wins" are equivalent.
 *
 * @param ruleShare the share of allowing policies that have a rule, 0 to 1
 */
export function addPolicies(directory: Directory, policyCount: number, ruleShare: number): TenantFacts {
  const { groups, users, resources } = directory;
  const dice = new Dice(2);
  const [allow, ...custom] = directory.rules;
  const policies = Array.from({ length: policyCount }, (_, index): PolicyFacts => {
    const action = dice.share() < 0.95;
    const hasRule = dice.share() < ruleShare;
    return {
      id: dice.id(),
      name: `Policy ${index}`,
      type: "PRIVATE",
      isDefault: false,
      active: true,
      action,
      mode: null,
      allGroups: false,
      allUsers: dice.share() < 0.001,
      allDevices: false,
      allResources: dice.share() < 0.01,
      groups: dice.some(3, () => dice.of(groups).id),
      users: dice.share() < 0.2 ? [dice.of(users).id] : [],
      devices: [],
      resources: dice.some(10, () => dice.of(resources).id),
      gateways: [],
      sourceIps: [],
      rule: action && hasRule ? dice.of(custom).id : (allow?.id ?? ""),
    };
  }).sort((a, b) => Number(a.action) - Number(b.action));
  return { ...directory, policies };
}

/** @param count half of them about a resource that some policy names */
export function makeQuestions({ devices, resources, policies }: TenantFacts, count: number): readonly Question[] {
  const dice = new Dice(3);
  return Array.from({ length: count }, (_, index): Question => {
    const device = dice.of(devices);
    const resourceId = index % 2 === 0 ? dice.of(dice.of(policies).resources) : dice.of(resources).id;
    return {
      subject: { kind: "user", userId: device.userId ?? "", deviceId: device.id },
      destination: { kind: "resource", resourceId },
      country: dice.of(["DE", "FR", "US"]),
      now,
    };
  });
}

/** All records except the policies, which refer to them. */
export function makeDirectory(counts: Omit<typeof sizes, "policies"> = sizes): Directory {
  const dice = new Dice(1);
  const groups = Array.from({ length: counts.groups }, (_, index) => ({ id: dice.id(), name: `Group ${index}` }));
  const someGroups = (most: number) => dice.some(most, () => dice.of(groups).id);
  const users = Array.from({ length: counts.users }, (_, index) => ({
    id: dice.id(),
    email: `user-${index}@example.com`,
    firstName: "First",
    lastName: "Last",
    status: "active" as const,
    groups: someGroups(5),
    attributes: { department: dice.of(["Engineering", "Sales", "Support"]), level: dice.below(10) },
  }));
  const devices = Array.from({ length: counts.devices }, (_, index) => ({
    id: dice.id(),
    userId: users[index % users.length]?.id ?? null,
    active: true,
    name: `Device ${index}`,
    os: dice.of(["macOS", "Windows", "Linux"]),
    osVersion: "14.1",
    appVersion: "1.0.0",
    tags: [],
    agent: true,
    hardwareId: `hardware-${index}`,
    posture: { diskEncrypted: dice.share() < 0.8 },
  }));
  const gateways = Array.from({ length: 20 }, (_, index) => ({
    id: dice.id(),
    name: `Gateway ${index}`,
    status: "ONLINE" as const,
    load: null,
    roundTripTimeMs: null,
  }));
  const resources = Array.from({ length: counts.resources }, (_, index) => ({
    id: dice.id(),
    name: `Resource ${index}`,
    type: "PRIVATE" as const,
    loadBalancingMode: "MANUAL" as const,
    addresses: [{ address: `resource-${index}.example.com`, protocols: [{ protocol: "TCP" as const, port: "443" }] }],
    gateways: [dice.of(gateways).id],
  }));
  const allow = { id: dice.id(), name: "Allow", type: "ALLOW" as const, text: null };
  const custom = ruleNames.map((name) => ({ id: dice.id(), name, type: "CUSTOM" as const, text: ruleTexts[name] }));
  return { users, groups, devices, gateways, resources, rules: [allow, ...custom] };
}

/** Reproducible randomness: a linear congruential generator (constants of Numerical Recipes). */
class Dice {
  #state: number;
  #ids: number;

  constructor(seed: number) {
    this.#state = seed;
    this.#ids = seed * 10_000_000;
  }

  share(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.share() * limit);
  }

  of<Value>(values: readonly Value[]): Value {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError("There is nothing to choose from.");
    return value;
  }

  some<Value>(most: number, make: () => Value): Value[] {
    return Array.from({ length: 1 + this.below(most) }, make);
  }

  /** A UUIDv7: rising at the front, random at the end. */
  id(): string {
    this.#ids += 1;
    const time = this.#ids.toString(16).padStart(12, "0");
    const random = (Math.imul(this.#ids, 2_654_435_761) >>> 0).toString(16).padStart(8, "0");
    const text = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${random}${time.slice(-4)}`;
    // A contiguous string, like one that was read from a database or a request. V8 keeps concatenated strings in parts.
    return Buffer.from(text, "latin1").toString("latin1");
  }
}
