/**
 * Every setting of the server, once: its flag, its environment variable, its key in the file, its form and its default
 * all come from this table.
 */
import { readFileSync } from "node:fs";
import {
  accessKey,
  addressRanges,
  databaseUrl,
  emailAddress,
  folder,
  listenHost,
  masterKey,
  nameOfRecord,
  oneOfThese,
  type ValueKind,
  wholeNumber,
  yesOrNo,
} from "./config-values.ts";
import { logLevels } from "./platform/log.ts";
import { nearestName } from "./platform/nearest-name.ts";

interface Setting<T> {
  readonly kind: ValueKind<T>;
  readonly description: string;
  /** Undefined where there is none. */
  readonly default: T;
  /** Given as a flag, a secret can be read in the machine's list of processes. */
  readonly secret: boolean;
}

function setting<T>(kind: ValueKind<T>, defaultText: string, description: string): Setting<T> {
  const read = kind.read(defaultText);
  if (!read.ok) throw new Error(`the default ${defaultText} is wrong: it must be ${read.problem}`);
  return { kind, default: read.value, description, secret: false };
}

function optional<T>(kind: ValueKind<T>, description: string): Setting<T | undefined> {
  return { kind, default: undefined, description, secret: false };
}

function secret<T>(kind: ValueKind<T>, description: string): Setting<T | undefined> {
  return { kind, default: undefined, description, secret: true };
}

export const settings = {
  host: setting(listenHost, "127.0.0.1", "Address to listen on; 0.0.0.0 or :: for every interface."),
  port: setting(wholeNumber("number", 0, 65_535), "8080", "TCP port to listen on; 0 for any free one."),
  dataDir: setting(folder, "./gatehouse-data", "Folder of the master key and of the embedded PostgreSQL."),
  databaseUrl: secret(databaseUrl, "PostgreSQL 15 or newer to use instead of the embedded one."),
  databasePoolSize: setting(wholeNumber("number", 2, 500), "10", "Connections to the database at most."),
  masterKey: secret(
    masterKey,
    "32 bytes in base64 that encrypt stored secrets. Made in the data folder where absent; needed with a database URL.",
  ),
  operatorKey: secret(accessKey, "The operator's key, in place of the one made at the first start."),
  bootstrapApiKey: secret(accessKey, "On an empty database, the value of the first tenant's API key."),
  bootstrapTenantName: setting(nameOfRecord, "First tenant", "On an empty database, the first tenant's name."),
  bootstrapOwnerEmail: setting(emailAddress, "owner@example.com", "On an empty database, the first tenant's owner."),
  trustedProxies: optional(addressRanges, "Addresses and CIDRs of proxies whose X-Forwarded-For is believed."),
  rateLimitPerMinute: setting(
    wholeNumber("number", 0, 100_000_000),
    "6000",
    "Requests that each key may make in a minute; 0 for any number.",
  ),
  authFailureLimit: setting(
    wholeNumber("number", 0, 100_000_000),
    "300",
    "Failed authentications from one address in 5 minutes, after which it is refused; 0 for any number.",
  ),
  rateLimitShared: setting(yesOrNo, "false", "Count for both limits over all replicas, by way of the database."),
  metricsPort: optional(
    wholeNumber("number", 0, 65_535),
    "TCP port for GET /metrics; 0 for any free one. Off where absent.",
  ),
  metricsHost: setting(
    listenHost,
    "127.0.0.1",
    "Address to serve the metrics on; they are for Prometheus, not for everybody.",
  ),
  auditCheckpointSeconds: setting(
    wholeNumber("seconds", 1, 86_400),
    "60",
    "How often the heads of the audit records are signed, in seconds.",
  ),
  auditRetentionDays: optional(
    wholeNumber("days", 1, 36_500),
    "For how many days audit entries are kept; for ever where absent.",
  ),
  webhookAllowedNetworks: optional(
    addressRanges,
    "Addresses and CIDRs that webhooks may lead to besides the internet, also without TLS.",
  ),
  webhookDisableAfterDays: setting(
    wholeNumber("days", 1, 365),
    "3",
    "Days of nothing but failed attempts after which a webhook is disabled.",
  ),
  gatewayDrainSeconds: setting(
    wholeNumber("seconds", 0, 86_400),
    "300",
    "How long connections that run may finish once their gateway is in maintenance, in seconds; the same on every replica.",
  ),
  logLevel: setting(oneOfThese("level", logLevels), "info", `How much is logged: ${logLevels.join(", ")}.`),
  demo: setting(yesOrNo, "false", "Fill the first tenant with example records, once."),
};

export type SettingName = keyof typeof settings;

/** The settings with their values; paths are absolute. */
export type Config = {
  readonly [N in SettingName]: (typeof settings)[N] extends Setting<infer T> ? T : never;
};

// Object.keys forgets which keys these are.
export const settingNames = Object.keys(settings) as readonly SettingName[];

/** The key of the file's own path, which is no setting in the file. */
const fileName = "config";

/** Variables that begin alike and are read by the client commands, not by the server. */
const otherVariables = ["GATEHOUSE_URL", "GATEHOUSE_API_KEY"];
const testVariables = "GATEHOUSE_TEST_";

/** @returns the environment variable of a setting: `dataDir` is GATEHOUSE_DATA_DIR */
export function variableOf(name: string): string {
  return `GATEHOUSE_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** @returns the flag of a setting: `dataDir` is --data-dir */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** Settings that are unknown or wrong. Each problem is a sentence that names one, and holds no secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

export interface ConfigSources {
  /** Flags by the names of their settings, and `config`; a switch is "true". */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A value, and what a person calls the place it is from. */
interface Given {
  readonly text: string;
  readonly place: string;
}

/**
 * Reads the settings: flags before environment before file before defaults. An empty environment variable is none.
 *
 * @throws ConfigError with everything that is wrong
 */
export function readConfig({ flags, environment }: ConfigSources): Config {
  const problems: string[] = unknownVariables(environment);
  const file = readSettingsFile(flags[fileName] ?? (environment[variableOf(fileName)] || undefined), problems);
  const config: Record<string, unknown> = {};
  for (const name of settingNames) {
    const given =
      flagGiven(name, flags[name]) ?? variableGiven(variableOf(name), environment[variableOf(name)]) ?? file.get(name);
    const { kind, default: fallback } = settings[name];
    const reading = given === undefined ? undefined : kind.read(given.text);
    if (reading?.ok === false) problems.push(`${given?.place} must be ${reading.problem}.${hintFor(given?.text)}`);
    config[name] = reading?.ok === true ? reading.value : fallback;
  }
  if (config.bootstrapApiKey !== undefined && config.bootstrapApiKey === config.operatorKey) {
    problems.push(`${variableOf("bootstrapApiKey")} must be another key than ${variableOf("operatorKey")}.`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config as Config; // the loop has read every setting by its own kind
}

function flagGiven(name: SettingName, text: string | undefined): Given | undefined {
  return text === undefined ? undefined : { text, place: flagOf(name) };
}

function variableGiven(variable: string, text: string | undefined): Given | undefined {
  return text === undefined || text === "" ? undefined : { text, place: variable };
}

const kubernetesHint =
  " Kubernetes sets such variables for a Service called gatehouse: set enableServiceLinks: false in the pod.";

function hintFor(text: string | undefined): string {
  return text?.startsWith("tcp://") === true ? kubernetesHint : "";
}

function unknownVariables(environment: ConfigSources["environment"]): string[] {
  const known = [...[...settingNames, fileName].map(variableOf), ...otherVariables];
  return Object.keys(environment)
    .filter((name) => name.startsWith("GATEHOUSE_") && !name.startsWith(testVariables) && !known.includes(name))
    .sort()
    .map((name) => {
      const fromKubernetes = /^GATEHOUSE_(SERVICE|PORT)_/.test(name) ? kubernetesHint : "";
      return `${notASetting(name, name, known)}${fromKubernetes}`;
    });
}

function notASetting(place: string, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const remedy = nearest === undefined ? "gatehouse serve --help lists them." : `Did you mean ${nearest}?`;
  return `${place} is not a setting. ${remedy}`;
}

/** The settings of a JSON file, by name. What is wrong with it is added to the problems. */
function readSettingsFile(path: string | undefined, problems: string[]): ReadonlyMap<string, Given> {
  const found = new Map<string, Given>();
  if (path === undefined) return found;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    // What the parser says quotes the text, which may be a secret.
    const reason =
      error instanceof SyntaxError ? "it is not JSON" : error instanceof Error ? error.message : String(error);
    problems.push(`The settings file ${path} cannot be read: ${reason}.`);
    return found;
  }
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    problems.push(`The settings file ${path} must hold one JSON object, such as {"port": 8080}.`);
    return found;
  }
  for (const [name, value] of Object.entries(content)) {
    const place = `${JSON.stringify(name)} in ${path}`;
    const text = textOf(value);
    if (!Object.hasOwn(settings, name)) problems.push(notASetting(place, name, settingNames));
    else if (text === undefined)
      problems.push(`${place} must be a string, a number, true, false, or a list of strings.`);
    else found.set(name, { text, place });
  }
  return found;
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.every((item) => typeof item === "string") ? value.join(",") : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}
