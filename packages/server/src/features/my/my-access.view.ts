/** The access of a person, as the person sees it: without policies, groups and other persons. */
import type { MyAccessAnswer, MyMissingFact, MyResource } from "@gatehouse/contract/records/my-access";
import type { DecisionReason } from "@gatehouse/policy/decisions/decision";
import type { OwnAccess, OwnExplanation } from "@gatehouse/policy/decisions/explain-own";
import type { MissingFact } from "@gatehouse/policy/decisions/missing-facts";
import type { ConditionTrace } from "@gatehouse/policy/decisions/rule-trace";

/** A device of the person. */
export interface OwnDevice {
  readonly name: string;
  /** Whether the device waits for an approval. */
  readonly isPending: boolean;
  /** False for a device with a WireGuard app, which reports no posture. */
  readonly hasAgent: boolean;
  /** Whether the question is about this device. */
  readonly asks: boolean;
}

const shownEntries = 20;
const shownCharacters = 500;

export function myResource({ resource, decision }: OwnAccess): MyResource {
  const { id, name, addresses } = resource.facts;
  const hasGateway = !decision.reasons.includes("no_reachable_gateway");
  return {
    id,
    name,
    state: decision.allowed ? (hasGateway ? "available" : "unavailable") : "blocked",
    addresses: addresses.slice(0, shownEntries).map(({ address }) => address),
  };
}

type OwnDevices = ReadonlyMap<string, OwnDevice>;

export function myAnswer(
  { decision, resource, missing, subject, changesAt }: OwnExplanation,
  devices: OwnDevices,
): MyAccessAnswer {
  // An address outside all resources gets the same answer, or the address of a confidential resource would differ.
  if (resource === undefined) return { reachable: false, missing: [{ kind: "not_granted" }] };
  const known = { resource: resource.named };
  const time = { ...momentOf("validUntil", decision.validUntil), ...momentOf("changesAt", changesAt) };
  if (decision.allowed) {
    const reachable = !decision.reasons.includes("no_reachable_gateway");
    return { reachable, ...known, missing: reachable ? [] : [{ kind: "no_gateway" }], ...time };
  }
  const facts = missing.flatMap((fact) => missingView(fact, devices));
  const first = subject === undefined ? [] : [subjectView(subject, devices)];
  const all = withoutRepeats([...first, ...facts]);
  // Everything is met, and another policy denies the access.
  return { reachable: false, ...known, missing: all.length === 0 ? [{ kind: "denied" }] : all, ...time };
}

/** Times that ISO 8601 cannot represent mean never. */
function momentOf(name: "validUntil" | "changesAt", time: number | undefined): Partial<MyAccessAnswer> {
  const at = time === undefined ? undefined : new Date(time);
  return at === undefined || Number.isNaN(at.getTime()) ? {} : { [name]: at.toISOString() };
}

/** Facts that several conditions can have in common. */
const sharedKinds: ReadonlySet<string> = new Set(["device_required", "agent_required", "sign_in_again"]);

/** One device, or one sign-in, can meet several conditions. A sign-in also begins an ended session again. */
function withoutRepeats(facts: readonly MyMissingFact[]): MyMissingFact[] {
  const remedyOf = (kind: MyMissingFact["kind"]) => (kind === "session_ended" ? "sign_in_again" : kind);
  return facts.filter(({ kind }, index) => {
    if (!sharedKinds.has(kind)) return true;
    return facts.findIndex((other) => remedyOf(other.kind) === kind) === index;
  });
}

function subjectView(reason: DecisionReason, devices: OwnDevices): MyMissingFact {
  if (reason === "device_session_ended") return { kind: "session_ended" };
  if (reason !== "device_inactive") return { kind: "person_inactive" };
  return { kind: askingDevice(devices)?.isPending === true ? "device_pending" : "device_deactivated" };
}

function missingView(fact: MissingFact, devices: OwnDevices): MyMissingFact[] {
  switch (fact.kind) {
    case "source": {
      if (fact.anyDevice) return [{ kind: "device_required" }];
      const names = fact.devices.flatMap((id) => devices.get(id)?.name ?? []);
      return [{ kind: "other_device", devices: names.slice(0, shownEntries) }];
    }
    case "source-address":
      return [{ kind: "network", networks: fact.sourceIps.slice(0, shownEntries) }];
    case "condition":
      if (isAboutSignIn(fact.condition)) return [signInView(devices)];
      return [conditionView(fact.condition, fact.negated, devices)];
    case "denied-by":
      return [{ kind: "denied" }];
    case "subject":
    case "destination":
    case "never":
      return [];
  }
}

/** Whether a condition is on the session of the device. The time often determines whether the session meets it. */
function isAboutSignIn({ values = [] }: ConditionTrace): boolean {
  const isRead = values.some(({ name }) => /^session\b/.test(name));
  return isRead && values.every(({ name }) => /^(session|now)\b/.test(name));
}

/** Only devices have sessions. */
function signInView(devices: OwnDevices): MyMissingFact {
  return { kind: askingDevice(devices) === undefined ? "device_required" : "sign_in_again" };
}

function askingDevice(devices: OwnDevices): OwnDevice | undefined {
  return [...devices.values()].find(({ asks }) => asks);
}

const subjects = { device: "device", now: "time", source: "place", user: "person" } as const;

/** The values whose conditions are quoted. Conditions on other values could name other persons and their devices. */
const quotable = /^(now|source|device\.(posture|os|osVersion|appVersion))\b/;

/** The texts of the condition on the agent. */
const needsAgent: ReadonlySet<string> = new Set(["device.agent", "device.agent == true", "true == device.agent"]);

function conditionView({ text, values = [] }: ConditionTrace, negated: boolean, devices: OwnDevices): MyMissingFact {
  if (needsAgent.has(text.trim()) && !negated) return { kind: "agent_required" };
  const about = values.map(({ name }) => subjects[name.split(".")[0] as keyof typeof subjects] ?? "person");
  const only = about.every((one) => one === about[0]) ? about[0] : undefined;
  if (only === undefined || only === "person") return { kind: "condition", about: "person" };
  if (only === "device") {
    const device = askingDevice(devices);
    if (device === undefined) return { kind: "device_required" };
    const isUnreported = values.some(({ name, value }) => /^device\.posture\b/.test(name) && value === undefined);
    if (isUnreported && !device.hasAgent) return { kind: "agent_required" };
  }
  if (!values.every(({ name }) => quotable.test(name))) return { kind: "condition", about: only };
  return { kind: "condition", about: only, condition: text.slice(0, shownCharacters), negated };
}
