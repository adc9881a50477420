/**
 * The settings of the server. Flags, environment variables, keys of the settings file, help and docs/configuration.md
 * are derived from this table.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import {
  accessKey,
  addressRanges,
  databaseUrl,
  emailAddress,
  file,
  folder,
  httpsUrl,
  listenHost,
  masterKey,
  nameOfRecord,
  oneOfThese,
  publicAddress,
  smtpUrl,
  type ValueKind,
  wholeNumber,
  yesOrNo,
} from "./config-values.ts";
import { logLevels } from "./platform/log.ts";
import { nearestName } from "./platform/nearest-name.ts";

interface Setting<T> {
  readonly kind: ValueKind<T>;
  readonly description: string;
  /** Undefined if the setting is optional. */
  readonly default: T;
  /** Secrets should not be given as flags, because flags show in the process list. */
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
  host: setting(listenHost, "127.0.0.1", "Address to listen on. Use 0.0.0.0 or :: for all interfaces."),
  port: setting(wholeNumber("number", 0, 65_535), "8080", "TCP port to listen on. 0 selects a free port."),
  publicUrl: optional(
    publicAddress,
    "Address at which browsers reach the server, for links, redirects and passkeys. By default, http://localhost with the port.",
  ),
  tlsCert: optional(file, "PEM file with the server certificate, followed by its intermediate certificates."),
  tlsKey: optional(file, "PEM file of the certificate's private key."),
  acmeDirectory: optional(
    httpsUrl,
    "Directory URL of an ACME certificate authority that issues the server certificate. Setting it accepts the authority's terms of service.",
  ),
  acmeContact: optional(emailAddress, "Email address that the ACME authority can send warnings to."),
  acmeHttpPort: optional(
    wholeNumber("number", 0, 65_535),
    "TCP port for plain HTTP, on which the ACME authority checks HTTP-01. Without it, TLS-ALPN-01 is used.",
  ),
  acmeCa: optional(file, "PEM file with the CA certificates to trust when connecting to a private ACME server."),
  strictTransportDays: setting(
    wholeNumber("days", 0, 3_650),
    "365",
    "Number of days for which browsers that used HTTPS at the public address refuse plain HTTP there. With 0, a browser accepts plain HTTP again after its next HTTPS response. Has no effect if the public address has a port other than 443.",
  ),
  dataDir: setting(folder, "./gatehouse-data", "Folder for the master key, embedded PostgreSQL and model snapshots."),
  agentsDir: setting(
    folder,
    "/usr/share/gatehouse/agents",
    "Folder with the agents' packages that the server offers at /apt/, from the package gatehouse-agents.",
  ),
  databaseUrl: secret(
    databaseUrl,
    "URL of a PostgreSQL server, version 15 or newer, to use instead of the embedded server.",
  ),
  databasePoolSize: setting(wholeNumber("number", 2, 500), "10", "Maximum number of database connections, 2 to 500."),
  cacheMemory: setting(
    wholeNumber("number", 0, 65_536),
    "64",
    "Memory that cached answers and records of the API can use, in MiB. 0 disables the caches.",
  ),
  modelSnapshotSpace: setting(
    wholeNumber("number", 0, 1_048_576),
    "2048",
    "Space for encrypted model snapshots, which load large tenants faster, in MiB. 0 stores none.",
  ),
  masterKey: secret(
    masterKey,
    "32 bytes in base64 that encrypt stored secrets. Required with a database URL; otherwise created in the data folder.",
  ),
  secondMasterKey: secret(
    masterKey,
    "Another master key that only decrypts, during a rotation: the previous key, or the next one.",
  ),
  operatorKey: secret(
    accessKey,
    "Operator key, 32 to 200 printable characters. By default, the first start generates one.",
  ),
  bootstrapApiKey: secret(
    accessKey,
    "API key of the first tenant of an empty database. By default, the first start generates one.",
  ),
  bootstrapTenantName: setting(nameOfRecord, "First tenant", "Name of the first tenant of an empty database."),
  bootstrapOwnerEmail: setting(
    emailAddress,
    "owner@example.com",
    "Email address of the first tenant's owner on an empty database.",
  ),
  trustedProxies: optional(
    addressRanges,
    "IP addresses and CIDR blocks of proxies whose X-Forwarded-For header is trusted.",
  ),
  rateLimitPerMinute: setting(
    wholeNumber("number", 0, 100_000_000),
    "6000",
    "Maximum number of requests per key and minute. 0 disables the limit.",
  ),
  authFailureLimit: setting(
    wholeNumber("number", 0, 100_000_000),
    "300",
    "Failed authentications allowed per address in 5 minutes. 0 disables the limit.",
  ),
  rateLimitShared: setting(yesOrNo, "false", "Apply both rate limits across all replicas, through the database."),
  metricsPort: optional(
    wholeNumber("number", 0, 65_535),
    "TCP port for GET /metrics. 0 selects a free port. Metrics are off by default.",
  ),
  metricsHost: setting(
    listenHost,
    "127.0.0.1",
    "Address on which metrics are served. Metrics require no key, so do not expose them.",
  ),
  auditCheckpointSeconds: setting(
    wholeNumber("seconds", 1, 86_400),
    "60",
    "Interval at which the audit records are signed, in seconds.",
  ),
  auditRetentionDays: optional(
    wholeNumber("days", 1, 36_500),
    "Days to retain audit entries and the history of access. By default, they are never deleted. None are deleted until servers have run for 12 hours without a jump of the clock.",
  ),
  webhookAllowedNetworks: optional(
    addressRanges,
    "IP addresses and CIDR blocks outside the public internet that webhooks may connect to, with or without TLS.",
  ),
  webhookDisableAfterDays: setting(
    wholeNumber("days", 1, 365),
    "3",
    "Days after which a webhook that fails or lags behind is disabled.",
  ),
  providerAllowedNetworks: optional(
    addressRanges,
    "IP addresses and CIDR blocks outside the public internet that identity providers can be in, with or without TLS.",
  ),
  smtpUrl: secret(
    smtpUrl,
    "SMTP server for email to users, such as smtp://user:password@mail.example.com:587. By default, no email is sent.",
  ),
  mailFrom: optional(emailAddress, "Sender address of emails. Required with an SMTP server."),
  mailsPerTenant: setting(
    wholeNumber("number", 1, 1_000_000),
    "2000",
    "Maximum number of emails that a tenant can send per day (UTC). Must be equal on all replicas.",
  ),
  gatewayDrainSeconds: setting(
    wholeNumber("seconds", 0, 86_400),
    "300",
    "Time that existing connections have to finish at a gateway in maintenance, in seconds. Must be equal on all replicas.",
  ),
  agentLinksPerTenant: setting(
    wholeNumber("number", 1, 20_000),
    "15000",
    "Maximum number of connected gateways, and of connected devices, of one tenant on one server. A server accepts 20,000 of each in total.",
  ),
  logLevel: setting(oneOfThese("level", logLevels), "info", `Log level: ${logLevels.join(", ")}.`),
  demo: setting(yesOrNo, "false", "Fill the first tenant with example records, once."),
};

export type SettingName = keyof typeof settings;

/** The settings with their values; paths are absolute. */
export type Config = {
  readonly [N in SettingName]: (typeof settings)[N] extends Setting<infer T> ? T : never;
};

// Object.keys returns string[].
export const settingNames = Object.keys(settings) as readonly SettingName[];

/** Name of the flag and variable with the path of the settings file; not valid inside the file. */
const fileName = "config";

/** Variables with the same prefix that client commands read, not the server. */
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

/** Unknown or invalid settings. Each problem is a sentence that names one setting and contains no secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

export interface ConfigSources {
  /** Flags by setting name, and `config`. A switch has the value "true". */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A value, with a description of its source for messages. */
interface Given {
  readonly text: string;
  readonly place: string;
}

/**
 * Reads the settings. Flags take precedence over the environment, the settings file and the defaults, in this order.
 * Empty environment variables are ignored.
 *
 * @throws ConfigError with all problems
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
  if ((config.tlsCert === undefined) !== (config.tlsKey === undefined)) {
    problems.push(`${variableOf("tlsCert")} and ${variableOf("tlsKey")} must be set together.`);
  }
  problems.push(...acmeProblems(config));
  if ((config.smtpUrl === undefined) !== (config.mailFrom === undefined)) {
    problems.push(`${variableOf("smtpUrl")} and ${variableOf("mailFrom")} must be set together.`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config as Config; // the loop has read every setting by its kind
}

function acmeProblems(config: Readonly<Record<string, unknown>>): readonly string[] {
  const [directory, url] = [variableOf("acmeDirectory"), variableOf("publicUrl")];
  if (config.acmeDirectory === undefined) {
    const others = ["acmeContact", "acmeHttpPort", "acmeCa"].filter((name) => config[name] !== undefined);
    return others.map((name) => `${variableOf(name)} needs ${directory}.`);
  }
  const problems: string[] = [];
  if (config.tlsCert !== undefined) problems.push(`${directory} and ${variableOf("tlsCert")} exclude each other.`);
  const { protocol, hostname } = new URL(String(config.publicUrl ?? "http://localhost"));
  if (protocol !== "https:" || isIP(hostname.replace(/^\[|\]$/g, "")) !== 0 || hostname === "localhost") {
    problems.push(`${directory} needs ${url} with https and a host name, such as https://gatehouse.example.com.`);
  }
  return problems;
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

/** Settings of a JSON file, by name. Appends problems with the file to `problems`. */
function readSettingsFile(path: string | undefined, problems: string[]): ReadonlyMap<string, Given> {
  const found = new Map<string, Given>();
  if (path === undefined) return found;
  let source = "";
  let content: unknown;
  try {
    source = readFileSync(path, "utf8");
    content = JSON.parse(source);
  } catch (error) {
    problems.push(
      error instanceof Error && "code" in error && error.code === "ENOENT"
        ? `The settings file ${path} does not exist. Create it, or remove ${flagOf(fileName)} or ${variableOf(fileName)}.`
        : `The settings file ${path} cannot be read: ${reasonOf(error, source)}.`,
    );
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

/** The parser's message is not repeated: it quotes the text, which may contain a secret. */
function reasonOf(error: unknown, source: string): string {
  if (!(error instanceof SyntaxError)) return error instanceof Error ? error.message : String(error);
  // Only some messages have the position.
  const position = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(error.message)?.[1];
  if (position === undefined) return "it is not JSON";
  return `it is not JSON, see line ${source.slice(0, Number(position)).split("\n").length}`;
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.every((item) => typeof item === "string") ? value.join(",") : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}
