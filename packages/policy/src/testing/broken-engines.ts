import { parseAddressText } from "@gatehouse/addresses/address-text";
import { type IpRange, parseIpRange, rangeContains } from "@gatehouse/addresses/ip-ranges";
import type { Decision } from "../decisions/decision.ts";
import type { AccessRequest } from "../decisions/request.ts";
import type { FactChange, PolicyFacts, ResourceFacts, TenantFacts } from "../model/facts.ts";
import { changedFacts } from "./changed-facts.ts";
import type { Engine } from "./engine-properties.ts";
import { decideByContract } from "./reference-decision.ts";

/** The reference as an engine, and engines that equal the reference except for one mistake. */

interface FakeModel {
  facts: TenantFacts;
  readonly remembered: Map<string, Decision>;
}

export const referenceEngine: Engine<FakeModel> = {
  compile: (facts) => ({ facts, remembered: new Map() }),
  update: (model, changes) => referenceEngine.compile(changedFacts(model.facts, changes)),
  decide: (model, request) => decision(model.facts, request),
};

const MINUTE_MS = 60_000;

/** Computes `validUntil` by deciding at later times, at most until the end of the minute. */
function decision(facts: TenantFacts, request: AccessRequest): Decision {
  const { readsNow, gatewaysInAnyOrder: _, ...decided } = decideByContract(facts, request);
  if (!readsNow) return decided;
  const endOfMinute = (Math.floor(request.now / MINUTE_MS) + 1) * MINUTE_MS;
  const now = JSON.stringify(decideByContract(facts, request));
  const isStable = [request.now + 1, endOfMinute - 1].every(
    (moment) => JSON.stringify(decideByContract(facts, { ...request, now: moment })) === now,
  );
  // Rules may read seconds and milliseconds, so equal decisions at both ends of a minute prove nothing.
  const readsParts = facts.rules.some(({ text }) => /Seconds|Milliseconds|[=!]=/.test(text ?? ""));
  return { ...decided, validUntil: isStable && !readsParts ? endOfMinute : request.now + 1 };
}

type Mistake =
  | { readonly facts: (facts: TenantFacts, request: AccessRequest) => TenantFacts }
  | { readonly request: (request: AccessRequest) => AccessRequest }
  | { readonly decision: (decision: Decision, request: AccessRequest) => Decision }
  | { readonly engine: Partial<Engine<FakeModel>> };

function broken(mistake: Mistake): Engine<FakeModel> {
  if ("engine" in mistake) return { ...referenceEngine, ...mistake.engine };
  return {
    ...referenceEngine,
    decide(model, request) {
      if ("facts" in mistake) return decision(mistake.facts(model.facts, request), request);
      if ("request" in mistake) return decision(model.facts, mistake.request(request));
      return mistake.decision(decision(model.facts, request), request);
    },
  };
}

function policies(change: (policy: PolicyFacts, request: AccessRequest) => Partial<PolicyFacts>): Mistake {
  return {
    facts: (facts, request) => ({
      ...facts,
      policies: facts.policies.map((policy) => ({ ...policy, ...change(policy, request) })),
    }),
  };
}

function resources(change: (resource: ResourceFacts, request: AccessRequest) => Partial<ResourceFacts>): Mistake {
  return {
    facts: (facts, request) => ({
      ...facts,
      resources: facts.resources.map((resource) => ({ ...resource, ...change(resource, request) })),
    }),
  };
}

/** Keeps only the addresses with the shortest prefix among those that contain the requested address. */
function withShortestPrefix(facts: TenantFacts, { destination }: AccessRequest): TenantFacts {
  const asked = destination.kind === "address" ? rangeOf(destination.address) : undefined;
  if (asked === undefined) return facts;
  const lengthOf = (address: string) => {
    const range = rangeOf(address);
    return range !== undefined && rangeContains(range, asked) ? range.prefixLength : undefined;
  };
  const lengths = facts.resources.flatMap(({ addresses }) => addresses.map(({ address }) => lengthOf(address)));
  const shortest = Math.min(...lengths.filter((length) => length !== undefined));
  return {
    ...facts,
    resources: facts.resources.map((resource) => ({
      ...resource,
      addresses: resource.addresses.filter(({ address }) => (lengthOf(address) ?? shortest) === shortest),
    })),
  };
}

function rangeOf(text: string): IpRange | undefined {
  const reading = parseIpRange(text);
  return reading.ok ? reading.value : undefined;
}

/** Reverses the last digit of resource ids, so that the resource that was created last comes first. */
const turned = (id: string) => `${id.slice(0, -1)}${9 - Number(id.slice(-1))}`;

function turnedAround(facts: TenantFacts): TenantFacts {
  return {
    ...facts,
    resources: facts.resources.map((resource) => ({ ...resource, id: turned(resource.id) })),
    policies: facts.policies.map((policy) => ({ ...policy, resources: policy.resources.map(turned) })),
  };
}

const withoutIps = { sourceIps: [] };

/** Engines with one mistake each, by description. */
export const brokenEngines: ReadonlyMap<string, Engine<FakeModel>> = new Map(
  Object.entries<Mistake>({
    "ignores sourceIps": policies(() => withoutIps),
    "skips denying policies with sourceIps for an unknown source address": policies((policy, { sourceIp }) =>
      sourceIp === undefined && !policy.action && policy.sourceIps.length > 0 ? { active: false } : {},
    ),
    "applies allowing policies with sourceIps to an unknown source address": policies((policy, { sourceIp }) =>
      sourceIp === undefined && policy.action ? withoutIps : {},
    ),
    "evaluates inactive policies": policies(() => ({ active: true })),
    "skips an inactive default policy": {
      facts: (facts) => ({
        ...facts,
        policies: facts.policies.filter(({ isDefault, active }) => active || !isDefault),
      }),
    },
    "checks the resources of a policy on the internet": policies((policy, { destination }) =>
      policy.type === "INTERNET" && !policy.isDefault && !policy.allResources && destination.kind === "address"
        ? { active: policy.resources.length > 0 && policy.active }
        : {},
    ),
    "ignores the gateways of a policy": policies((policy) => (policy.type === "INTERNET" ? {} : { gateways: [] })),
    "counts deleted groups": {
      facts: (facts) => ({
        ...facts,
        groups: [
          ...facts.groups,
          ...facts.users
            .flatMap(({ groups }) => groups)
            .filter((id) => facts.groups.every((group) => group.id !== id))
            .map((id) => ({ id, name: "gone" })),
        ],
      }),
    },
    "admits requests if the rule was deleted": {
      facts: (facts) => ({
        ...facts,
        rules: [
          ...facts.rules,
          ...facts.policies
            .filter(({ rule }) => facts.rules.every(({ id }) => id !== rule))
            .map(({ rule }) => ({ id: rule, name: "gone", type: "ALLOW" as const, text: null })),
        ],
      }),
    },
    "ignores that devices are inactive": {
      facts: (facts) => ({ ...facts, devices: facts.devices.map((device) => ({ ...device, active: true })) }),
    },
    "ignores sessions of devices": {
      facts: (facts) => ({ ...facts, devices: facts.devices.map((device) => ({ ...device, session: null })) }),
    },
    "takes every session for new": {
      facts: (facts, { now }) => ({
        ...facts,
        devices: facts.devices.map((device) =>
          device.session == null ? device : { ...device, session: { ...device.session, authenticatedAt: now } },
        ),
      }),
    },
    "ignores that users are pending": {
      facts: (facts) => ({
        ...facts,
        users: facts.users.map((user) => (user.status === "pending" ? { ...user, status: "active" } : user)),
      }),
    },
    "lets attributes hide the email address": {
      facts: (facts) => ({
        ...facts,
        users: facts.users.map((user) => ({ ...user, email: String(user.attributes.email ?? user.email) })),
      }),
    },
    "sends traffic through gateways in maintenance": {
      facts: (facts) => ({
        ...facts,
        gateways: facts.gateways.map((gateway) =>
          gateway.status === "MAINTENANCE" ? { ...gateway, status: "ONLINE" } : gateway,
        ),
      }),
    },
    "picks the shortest prefix": { facts: withShortestPrefix },
    "matches a wildcard to its own domain": resources((resource, { destination }) => ({
      addresses: resource.addresses.map((each) =>
        destination.kind === "address" && each.address === `*.${destination.address}`
          ? { ...each, address: destination.address }
          : each,
      ),
    })),
    "treats no protocols as all protocols": resources((resource) => ({
      addresses: resource.addresses.map((each) =>
        each.protocols.length > 0 ? each : { ...each, protocols: [{ protocol: "TCP" }, { protocol: "UDP" }] },
      ),
    })),
    "compares host names with case": {
      request: (request) =>
        request.destination.kind === "address" && /[A-Z]/.test(request.destination.address)
          ? { ...request, destination: { ...request.destination, address: "other.example.net" } }
          : request,
    },
    "ignores mapped IPv4 addresses": {
      request: (request) => {
        const { sourceIp, ...others } = request;
        return sourceIp?.startsWith("::ffff:") === true ? { ...others, sourceIp: "2001:db9::" } : request;
      },
    },
    "ignores ports": {
      request: (request) => {
        if (request.destination.kind !== "address") return request;
        const { port: _, ...destination } = request.destination;
        return { ...request, destination };
      },
    },
    "ignores properties in the request": {
      request: (request) => {
        if (request.subject.kind === "site") return request;
        const { attributes: _, posture: __, ...subject } = request.subject;
        return { ...request, subject };
      },
    },
    "picks the resource created last": {
      engine: {
        decide(model, request) {
          const { destination } = request;
          const asked =
            destination.kind === "resource"
              ? { ...destination, resourceId: turned(destination.resourceId) }
              : destination;
          const { resource, ...decided } = decision(turnedAround(model.facts), { ...request, destination: asked });
          return { ...decided, ...(resource && { resource: { ...resource, id: turned(resource.id) } }) };
        },
      },
    },
    "sends unoffered protocols to the internet": {
      engine: {
        decide(model, request) {
          const decided = decision(model.facts, request);
          if (decided.reasons[0] !== "protocol_not_offered") return decided;
          return decision({ ...model.facts, resources: [] }, request);
        },
      },
    },
    "accepts a block as destination": {
      engine: {
        decide(model, request) {
          const { destination } = request;
          const reading = destination.kind === "address" ? parseAddressText(destination.address) : undefined;
          if (destination.kind !== "address" || !reading?.ok || reading.value.kind !== "cidr") {
            return decision(model.facts, request);
          }
          const address = destination.address.slice(0, destination.address.indexOf("/"));
          return decision(model.facts, { ...request, destination: { ...destination, address } });
        },
      },
    },
    "allows in mode RESTRICTED": {
      decision: (decided) => (decided.mode === "RESTRICTED" ? { ...decided, allowed: true } : decided),
    },
    "omits the reason for unreachable gateways": {
      decision: (decided) => ({ ...decided, reasons: [decided.reasons[0]] }),
    },
    "orders gateways by id": { decision: (decided) => ({ ...decided, gateways: [...decided.gateways].sort() }) },
    "omits validUntil": {
      decision: ({ validUntil: _, ...decided }) => decided,
    },
    "extends validUntil by a day": {
      decision: (decided) =>
        decided.validUntil === undefined ? decided : { ...decided, validUntil: decided.validUntil + 86_400_000 },
    },
    "sets validUntil for every decision": {
      decision: (decided, { now }) => ({ ...decided, validUntil: now + 1 }),
    },
    "caches decisions independently of time": {
      engine: {
        decide(model, request) {
          const key = JSON.stringify({ ...request, now: 0 });
          const decided = model.remembered.get(key) ?? decision(model.facts, request);
          model.remembered.set(key, decided);
          return decided;
        },
      },
    },
    "caches decisions independently of the source address": {
      engine: {
        decide(model, request) {
          const key = JSON.stringify({ ...request, now: 0, sourceIp: "", country: "" });
          const { validUntil: _, ...decided } = model.remembered.get(key) ?? decision(model.facts, request);
          model.remembered.set(key, decided);
          return decided;
        },
      },
    },
  }).map(([name, mistake]) => [name, broken(mistake)]),
);

function updatesBy(update: (facts: TenantFacts, changes: readonly FactChange[]) => TenantFacts): Engine<FakeModel> {
  return {
    ...referenceEngine,
    update: (model, changes) => referenceEngine.compile(update(model.facts, changes)),
  };
}

/** Engines that compile correctly and update incorrectly, by description of the mistake. */
export const brokenUpdates: ReadonlyMap<string, Engine<FakeModel>> = new Map(
  Object.entries({
    "ignores a new order of policies": updatesBy((facts, changes) =>
      changedFacts(
        facts,
        changes.filter(({ kind }) => kind !== "policy-order"),
      ),
    ),
    "retains deleted records": updatesBy((facts, changes) =>
      changedFacts(
        facts,
        changes.filter((change) => !("gone" in change)),
      ),
    ),
    "puts changed policies last": updatesBy((facts, changes) =>
      changes.reduce((current, change) => {
        const isChanged = change.kind === "policy" && "facts" in change;
        const before = isChanged ? [{ kind: "policy" as const, gone: change.facts.id }, change] : [change];
        return changedFacts(current, before);
      }, facts),
    ),
    "puts new policies first": updatesBy((facts, changes) => {
      const { policies: after, ...others } = changedFacts(facts, changes);
      const isNew = ({ id, isDefault }: PolicyFacts) =>
        !isDefault && facts.policies.every((policy) => policy.id !== id);
      return { ...others, policies: [...after.filter(isNew), ...after.filter((policy) => !isNew(policy))] };
    }),
    "ignores new names of groups": updatesBy((facts, changes) => {
      const after = changedFacts(facts, changes);
      const known = after.groups.filter(({ id }) => facts.groups.some((group) => group.id === id));
      return { ...after, groups: known };
    }),
    "modifies the previous model": {
      ...referenceEngine,
      update(model, changes) {
        model.facts = changedFacts(model.facts, changes);
        return model;
      },
    },
  }),
);
