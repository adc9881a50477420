import { readdirSync, readFileSync } from "node:fs";
import type { ResourceType } from "@gatehouse/contract/records/address";
import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import type { PolicyMode, PolicyType } from "@gatehouse/contract/records/policy";
import type { NetworkProtocol } from "@gatehouse/contract/records/protocol";
import type { LoadBalancingMode } from "@gatehouse/contract/records/resource";
import type { UserStatus } from "@gatehouse/contract/records/user";
import { parse } from "yaml";
import type { Decision, DecisionReason } from "../decisions/decision.ts";
import type { AccessRequest, Destination, Subject } from "../decisions/request.ts";
import type { PolicyFacts, Properties, RuleFacts, SessionFacts, TenantFacts } from "../model/facts.ts";

/**
 * Golden cases. Each file `golden/<area>/<number>-<title>.yaml` contains one decision with its reason, written by hand.
 * Cases refer to records by name. Groups exist when they are named, and all other records when they are described. A
 * name that begins with "missing" refers to no record. Ids follow the order in the file.
 */

interface GoldenFile {
  /** The step of the contract that decides the case, and the mistake that the case detects. */
  readonly why: string;
  readonly tenant: {
    readonly users?: Readonly<Record<string, GoldenUser | null>>;
    readonly devices?: Readonly<Record<string, GoldenDevice | null>>;
    /** Only the status, or the values that AUTOMATIC load balancing reads. */
    readonly gateways?: Readonly<Record<string, GatewayStatus>>;
    readonly resources?: Readonly<Record<string, GoldenResource | null>>;
    readonly policies?: readonly GoldenPolicy[];
  };
  readonly request: GoldenRequest;
  readonly expect: GoldenExpectation;
}

interface GoldenUser {
  /** Active if absent. */
  readonly status?: UserStatus;
  readonly groups?: readonly string[];
  readonly firstName?: string;
  readonly lastName?: string;
  readonly attributes?: Properties;
}

interface GoldenDevice {
  /** If absent or null, the device has no user. */
  readonly user?: string | null;
  readonly active?: boolean;
  readonly os?: string;
  readonly osVersion?: string;
  readonly appVersion?: string;
  readonly hardwareId?: string;
  readonly tags?: readonly string[];
  readonly agent?: boolean;
  readonly posture?: Properties;
  /** If absent, nobody has signed in on the device. */
  readonly session?: {
    readonly authenticatedAt: string;
    readonly methods?: readonly string[];
    readonly provider?: string;
  };
  /** The end of the device's session. If absent, no session limits the device. */
  readonly sessionEndsAt?: string;
}

interface GoldenResource {
  /** PRIVATE if absent. */
  readonly type?: ResourceType;
  /** The position in the order of creation, if it differs from the order in the file. */
  readonly created?: number;
  readonly loadBalancing?: LoadBalancingMode;
  /** Protocols by address, such as TCP/443, TCP/20-25, UDP or ICMP. */
  readonly addresses?: Readonly<Record<string, readonly string[]>>;
  readonly gateways?: readonly string[];
}

interface GoldenPolicy {
  readonly name: string;
  /** PRIVATE if absent. */
  readonly type?: PolicyType;
  readonly action?: "allow" | "deny";
  readonly active?: boolean;
  readonly isDefault?: boolean;
  readonly mode?: PolicyMode;
  /** The `all…` flags that are set. */
  readonly all?: readonly ("groups" | "users" | "devices" | "resources")[];
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
  readonly devices?: readonly string[];
  readonly resources?: readonly string[];
  readonly gateways?: readonly string[];
  readonly sourceIps?: readonly string[];
  /** The text of the admission rule. If absent, `rule` applies. */
  readonly when?: string;
  /** A built-in or missing rule. If absent, the rule that admits every request. */
  readonly rule?: "admit" | "never" | "missing";
}

interface GoldenRequest {
  readonly user?: string;
  readonly device?: string;
  readonly site?: string;
  readonly attributes?: Properties;
  readonly posture?: Properties;
  readonly resource?: string;
  readonly to?: string;
  /** TCP or TCP/443. */
  readonly protocol?: string;
  readonly from?: string;
  /** Addresses that gateways observed later than the control plane. They count at these gateways instead of `from`. */
  readonly observed?: Readonly<Record<string, string>>;
  readonly country?: string;
  /** If absent, Thursday, 15 January 2026, at noon UTC. */
  readonly at?: string;
}

export interface GoldenExpectation {
  readonly allowed: boolean;
  readonly reasons: readonly DecisionReason[];
  readonly policy?: string;
  readonly resource?: string;
  readonly mode?: PolicyMode;
  /** None if absent. In order, unless load balancing is AUTOMATIC. */
  readonly gateways?: readonly string[];
  /** The time at which the decision changes, or `never`. If absent, no evaluated rule reads the clock. */
  readonly changesAt?: string;
}

export interface GoldenCase {
  readonly title: string;
  readonly why: string;
  readonly facts: TenantFacts;
  readonly request: AccessRequest;
  /** The addresses that count at some gateways instead of the request's. */
  readonly observed: ReadonlyMap<string, string>;
  readonly expected: GoldenExpectation;
}

const folder = new URL("../../golden/", import.meta.url);

const keys = {
  file: ["why", "tenant", "request", "expect"],
  tenant: ["users", "devices", "gateways", "resources", "policies"],
  user: ["status", "groups", "firstName", "lastName", "attributes"],
  device: [
    "user",
    "active",
    "os",
    "osVersion",
    "appVersion",
    "hardwareId",
    "tags",
    "agent",
    "posture",
    "session",
    "sessionEndsAt",
  ],
  session: ["authenticatedAt", "methods", "provider"],
  resource: ["type", "created", "loadBalancing", "addresses", "gateways"],
  policy: [
    "name",
    "type",
    "action",
    "active",
    "isDefault",
    "mode",
    "all",
    "groups",
    "users",
    "devices",
    "resources",
    "gateways",
    "sourceIps",
    "when",
    "rule",
  ],
  request: [
    "user",
    "device",
    "site",
    "attributes",
    "posture",
    "resource",
    "to",
    "protocol",
    "from",
    "observed",
    "country",
    "at",
  ],
  expect: ["allowed", "reasons", "policy", "resource", "mode", "gateways", "changesAt"],
} as const;

/** All golden cases by area and number. */
export function readGoldenCases(): GoldenCase[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
  return files.sort().map((name) => goldenCase(name, readFileSync(new URL(name, folder), "utf8")));
}

/** @throws Error for a file with missing or unknown keys */
export function goldenCase(title: string, text: string): GoldenCase {
  try {
    // Keys and names of records are checked, because a typing error there would go unnoticed.
    const file = parse(text) as GoldenFile;
    checkKeys(file);
    const names = namesOf(file.tenant);
    return {
      title: title.replace(/\.yaml$/, ""),
      why: file.why,
      facts: factsOf(file.tenant, names),
      request: requestOf(file.request, names),
      observed: new Map(
        Object.entries(file.request.observed ?? {}).map(([name, address]) => [names.idOf("gateway", name), address]),
      ),
      expected: file.expect,
    };
  } catch (error) {
    throw new Error(`${title}: ${String(error)}`, { cause: error });
  }
}

/** A decision in the notation of golden cases. */
export function inNames(
  golden: GoldenCase,
  decision: Omit<Decision, "validUntil">,
): Omit<GoldenExpectation, "changesAt"> {
  const { allowed, reasons, policy, resource, mode } = decision;
  const nameOf = (id: string) => golden.facts.gateways.find((gateway) => gateway.id === id)?.name ?? id;
  const gateways = decision.gateways.map(nameOf);
  return {
    allowed,
    reasons: [...reasons],
    ...(policy && { policy: policy.name }),
    ...(resource && { resource: resource.name }),
    ...(mode && { mode }),
    gateways: isAutomatic(golden, resource?.id) ? gateways.sort() : gateways,
  };
}

/** The expected decision of a golden case in comparable form. */
export function expectationOf({ expected }: GoldenCase): Omit<GoldenExpectation, "changesAt"> {
  const { changesAt: _, ...others } = expected;
  return { ...others, gateways: expected.gateways ?? [] };
}

function isAutomatic({ facts }: GoldenCase, resourceId: string | undefined): boolean {
  return facts.resources.some(({ id, loadBalancingMode }) => id === resourceId && loadBalancingMode === "AUTOMATIC");
}

type Kind = "user" | "group" | "device" | "gateway" | "resource" | "rule" | "policy";
const kinds: readonly Kind[] = ["user", "group", "device", "gateway", "resource", "rule", "policy"];

interface Names {
  /** @throws Error for an unknown name that does not begin with "missing" */
  idOf(kind: Kind, name: string): string;
}

function namesOf(tenant: GoldenFile["tenant"]): Names {
  const { users = {}, devices = {}, gateways = {}, resources = {}, policies = [] } = tenant;
  const groups = [...Object.values(users), ...policies].flatMap((one) => one?.groups ?? []);
  const inOrder = Object.entries(resources)
    .map(([name, resource], index) => ({ name, created: resource?.created ?? index }))
    .sort((a, b) => a.created - b.created);
  const known: Partial<Record<Kind, readonly string[]>> = {
    user: Object.keys(users),
    group: [...new Set(groups)].filter((name) => !name.startsWith("missing")),
    device: Object.keys(devices),
    gateway: Object.keys(gateways),
    resource: inOrder.map(({ name }) => name),
    policy: policies.map(({ name }) => name),
  };
  return {
    idOf(kind, name) {
      const place = known[kind]?.indexOf(name) ?? -1;
      if (place >= 0) return idAt(kind, place + 1);
      if (kind === "group" || name.startsWith("missing")) return idAt(kind, 999_999);
      throw new Error(`The ${kind} "${name}" does not exist.`);
    },
  };
}

/** An id in the form that the server uses. Within a kind, the smaller number was created first. */
function idAt(kind: Kind, number: number): string {
  return `01980000-0000-7000-800${kinds.indexOf(kind) + 1}-${String(number).padStart(12, "0")}`;
}

const admitRule = idAt("rule", 1);
const neverRule = idAt("rule", 2);
const firstCustomRule = 3;

function factsOf(tenant: GoldenFile["tenant"], names: Names): TenantFacts {
  const { users = {}, devices = {}, gateways = {}, resources = {}, policies = [] } = tenant;
  const groups = new Set([...Object.values(users), ...policies].flatMap((one) => one?.groups ?? []));
  return {
    users: Object.entries(users).map(([name, user]) => ({
      id: names.idOf("user", name),
      email: `${name}@example.com`,
      firstName: user?.firstName ?? "",
      lastName: user?.lastName ?? "",
      status: user?.status ?? "active",
      groups: (user?.groups ?? []).map((group) => names.idOf("group", group)),
      attributes: user?.attributes ?? {},
    })),
    groups: [...groups]
      .filter((name) => !name.startsWith("missing"))
      .map((name) => ({ id: names.idOf("group", name), name })),
    devices: Object.entries(devices).map(([name, device]) => ({
      id: names.idOf("device", name),
      userId: device?.user == null ? null : names.idOf("user", device.user),
      active: device?.active ?? true,
      name,
      os: device?.os ?? "",
      osVersion: device?.osVersion ?? "",
      appVersion: device?.appVersion ?? "",
      hardwareId: device?.hardwareId ?? "",
      tags: device?.tags ?? [],
      agent: device?.agent ?? true,
      posture: device?.posture ?? {},
      session: sessionFacts(device?.session),
      sessionEndsAt: device?.sessionEndsAt === undefined ? null : Date.parse(device.sessionEndsAt),
    })),
    gateways: Object.entries(gateways).map(([name, status]) => ({
      id: names.idOf("gateway", name),
      name,
      status,
      load: null,
      roundTripTimeMs: null,
    })),
    resources: Object.entries(resources).map(([name, resource]) => ({
      id: names.idOf("resource", name),
      name,
      type: resource?.type ?? "PRIVATE",
      loadBalancingMode: resource?.loadBalancing ?? "MANUAL",
      addresses: Object.entries(resource?.addresses ?? {}).map(([address, protocols]) => ({
        address,
        protocols: protocols.map(networkProtocol),
      })),
      gateways: (resource?.gateways ?? []).map((gateway) => names.idOf("gateway", gateway)),
    })),
    rules: [
      { id: admitRule, name: "Admission without restrictions", type: "ALLOW", text: null },
      { id: neverRule, name: "Never", type: "DENY", text: null },
      ...policies.flatMap(({ name, when }, index): RuleFacts[] =>
        when === undefined ? [] : [{ id: idAt("rule", firstCustomRule + index), name, type: "CUSTOM", text: when }],
      ),
    ],
    policies: policies.map((policy, index) => policyFacts(policy, index, names)),
  };
}

function sessionFacts(session: GoldenDevice["session"]): SessionFacts | null {
  if (session === undefined) return null;
  const { authenticatedAt, methods = [], provider = null } = session;
  return { authenticatedAt: Date.parse(authenticatedAt), methods, provider };
}

function policyFacts(policy: GoldenPolicy, index: number, names: Names): PolicyFacts {
  const flag = (what: "groups" | "users" | "devices" | "resources") => policy.all?.includes(what) ?? false;
  const idsOf = (kind: Kind, list: readonly string[] = []) => list.map((name) => names.idOf(kind, name));
  const builtIn = { admit: admitRule, never: neverRule, missing: idAt("rule", 999_999) }[policy.rule ?? "admit"];
  return {
    id: names.idOf("policy", policy.name),
    name: policy.name,
    type: policy.type ?? "PRIVATE",
    isDefault: policy.isDefault ?? false,
    active: policy.active ?? true,
    action: policy.action !== "deny",
    mode: policy.mode ?? null,
    allGroups: flag("groups"),
    allUsers: flag("users"),
    allDevices: flag("devices"),
    allResources: flag("resources"),
    groups: idsOf("group", policy.groups),
    users: idsOf("user", policy.users),
    devices: idsOf("device", policy.devices),
    resources: idsOf("resource", policy.resources),
    gateways: idsOf("gateway", policy.gateways),
    sourceIps: policy.sourceIps ?? [],
    rule: policy.when === undefined ? builtIn : idAt("rule", firstCustomRule + index),
  };
}

function requestOf(request: GoldenRequest, names: Names): AccessRequest {
  return {
    subject: subjectOf(request, names),
    destination: destinationOf(request, names),
    now: Date.parse(request.at ?? "2026-01-15T12:00:00Z"),
    ...(request.from !== undefined && { sourceIp: request.from }),
    ...(request.country !== undefined && { country: request.country }),
  };
}

function subjectOf({ user, device, site, attributes, posture }: GoldenRequest, names: Names): Subject {
  if (site !== undefined) return { kind: "site", gatewayId: names.idOf("gateway", site) };
  const overrides = { ...(attributes && { attributes }), ...(posture && { posture }) };
  const deviceId = device === undefined ? undefined : names.idOf("device", device);
  if (user !== undefined) {
    return {
      kind: "user",
      userId: names.idOf("user", user),
      ...(deviceId !== undefined && { deviceId }),
      ...overrides,
    };
  }
  if (deviceId === undefined) throw new Error("The request has no subject.");
  return { kind: "device", deviceId, ...overrides };
}

function destinationOf({ resource, to, protocol }: GoldenRequest, names: Names): Destination {
  if (resource !== undefined) return { kind: "resource", resourceId: names.idOf("resource", resource) };
  if (to === undefined) throw new Error("The request has no destination.");
  if (protocol === undefined) return { kind: "address", address: to };
  const asked = networkProtocol(protocol);
  const port = asked.port === undefined ? {} : { port: Number(asked.port) };
  return { kind: "address", address: to, protocol: asked.protocol, ...port };
}

function networkProtocol(text: string): NetworkProtocol {
  const [, protocol, port] = /^(TCP|UDP|ICMP)(?:\/([0-9]+(?:-[0-9]+)?))?$/.exec(text) ?? [];
  if (protocol !== "TCP" && protocol !== "UDP" && protocol !== "ICMP")
    throw new Error(`"${text}" is not a protocol. Use TCP, UDP or ICMP.`);
  return port === undefined ? { protocol } : { protocol, port };
}

function checkKeys(file: GoldenFile): void {
  const check = (what: keyof typeof keys, value: object | null | undefined) => {
    const known: readonly string[] = keys[what];
    const unknown = Object.keys(value ?? {}).find((key) => !known.includes(key));
    if (unknown !== undefined) throw new Error(`Key "${unknown}" is not allowed in a golden ${what}.`);
  };
  check("file", file);
  check("tenant", file.tenant);
  for (const user of Object.values(file.tenant?.users ?? {})) check("user", user);
  for (const device of Object.values(file.tenant?.devices ?? {})) {
    check("device", device);
    check("session", device?.session);
  }
  for (const resource of Object.values(file.tenant?.resources ?? {})) check("resource", resource);
  for (const policy of file.tenant?.policies ?? []) check("policy", policy);
  check("request", file.request);
  check("expect", file.expect);
  if (typeof file.why !== "string" || file.why.length < 20)
    throw new Error("A golden case must give its reason in `why`.");
}
