import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigError, type ConfigSources, flagOf, readConfig, settingNames, settings, variableOf } from "./config.ts";
import { generateToken, tokenPrefixes } from "./platform/secrets/tokens.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gatehouse-test-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

function read(sources: Partial<ConfigSources>) {
  return readConfig({ flags: {}, environment: {}, ...sources });
}

function problems(sources: Partial<ConfigSources>): readonly string[] {
  try {
    read(sources);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

function settingsFile(content: string): string {
  const path = join(folder, "settings.json");
  writeFileSync(path, content);
  return path;
}

test("without settings, every setting has its default", () => {
  expect(read({})).toEqual({
    host: "127.0.0.1",
    port: 8080,
    publicUrl: undefined,
    tlsCert: undefined,
    tlsKey: undefined,
    dataDir: resolve("gatehouse-data"),
    databaseUrl: undefined,
    databasePoolSize: 10,
    cacheMemory: 64,
    modelSnapshotSpace: 2048,
    masterKey: undefined,
    secondMasterKey: undefined,
    operatorKey: undefined,
    bootstrapApiKey: undefined,
    bootstrapTenantName: "First tenant",
    bootstrapOwnerEmail: "owner@example.com",
    trustedProxies: undefined,
    strictTransportDays: 365,
    rateLimitPerMinute: 6_000,
    authFailureLimit: 300,
    rateLimitShared: false,
    metricsPort: undefined,
    metricsHost: "127.0.0.1",
    acmeCa: undefined,
    acmeContact: undefined,
    acmeDirectory: undefined,
    acmeHttpPort: undefined,
    agentsDir: "/usr/share/gatehouse/agents",
    auditCheckpointSeconds: 60,
    auditRetentionDays: undefined,
    webhookAllowedNetworks: undefined,
    webhookDisableAfterDays: 3,
    providerAllowedNetworks: undefined,
    smtpUrl: undefined,
    mailFrom: undefined,
    mailsPerTenant: 2_000,
    gatewayDrainSeconds: 300,
    agentLinksPerTenant: 15_000,
    logLevel: "info",
    demo: false,
  });
});

test("every setting has a flag, a variable and a description, all unique", () => {
  expect(new Set(settingNames.map(flagOf)).size).toBe(settingNames.length);
  for (const name of settingNames) {
    expect(variableOf(name)).toMatch(/^GATEHOUSE_[A-Z_]+$/);
    expect(flagOf(name)).toMatch(/^--[a-z-]+$/);
    expect(settings[name].description).toMatch(/\.$/);
  }
});

test("flags take precedence over the environment, the file and the defaults, in this order", () => {
  const config = settingsFile('{"port": 1, "host": "192.0.2.1", "logLevel": "warn"}');
  const environment = { GATEHOUSE_PORT: "2", GATEHOUSE_HOST: "192.0.2.2", GATEHOUSE_CONFIG: config };
  expect(read({ flags: { port: "3" }, environment })).toMatchObject({ port: 3, host: "192.0.2.2", logLevel: "warn" });
  expect(read({ flags: { config } })).toMatchObject({ port: 1, host: "192.0.2.1", dataDir: settings.dataDir.default });
});

test("an empty variable is ignored, as in compose files", () => {
  expect(read({ environment: { GATEHOUSE_DATABASE_URL: "", GATEHOUSE_CONFIG: "" } }).databaseUrl).toBeUndefined();
});

const key = "k".repeat(32);

test.each([
  ["GATEHOUSE_HOST", "::1", { host: "::1" }],
  ["GATEHOUSE_HOST", "gatehouse.example.com", { host: "gatehouse.example.com" }],
  ["GATEHOUSE_PORT", "0", { port: 0 }],
  ["GATEHOUSE_DATA_DIR", "somewhere/else", { dataDir: resolve("somewhere/else") }],
  ["GATEHOUSE_DATABASE_URL", "postgresql://a:b@db.example.com/g", { databaseUrl: "postgresql://a:b@db.example.com/g" }],
  ["GATEHOUSE_DATABASE_URL", "postgres://a@/g?host=/run/db", { databaseUrl: "postgres://a@/g?host=/run/db" }],
  ["GATEHOUSE_MASTER_KEY", Buffer.alloc(32, 1).toString("base64"), { masterKey: Buffer.alloc(32, 1) }],
  ["GATEHOUSE_OPERATOR_KEY", key, { operatorKey: key }],
  ["GATEHOUSE_BOOTSTRAP_TENANT_NAME", "  Example Ltd ", { bootstrapTenantName: "Example Ltd" }],
  ["GATEHOUSE_TRUSTED_PROXIES", "192.0.2.1, 2001:db8::/32", { trustedProxies: ["192.0.2.1", "2001:db8::/32"] }],
  ["GATEHOUSE_DEMO", "true", { demo: true }],
])("%s accepts %s", (variable, text, expected) => {
  expect(read({ environment: { [variable]: text } })).toMatchObject(expected);
});

const server = { host: "mail.example.com", port: 587, tls: "starttls", user: undefined, password: undefined };
test.each([
  ["smtp://mail.example.com", server],
  ["smtp://mail.example.com:25?tls=optional", { ...server, port: 25, tls: "optional" }],
  ["smtps://mail.example.com/", { ...server, port: 465, tls: "implicit" }],
  ["smtp://ann:p%40ss@mail.example.com", { ...server, user: "ann", password: "p@ss" }],
  ["smtp://localhost:25", { ...server, host: "localhost", port: 25, tls: "optional" }],
  ["smtp://[::1]:25", { ...server, host: "::1", port: 25, tls: "optional" }],
])("GATEHOUSE_SMTP_URL accepts %s", (smtpUrl, expected) => {
  const environment = { GATEHOUSE_SMTP_URL: smtpUrl, GATEHOUSE_MAIL_FROM: "gatehouse@example.com" };
  expect(read({ environment }).smtpUrl).toEqual(expected);
});

test.each([
  "http://mail.example.com",
  "smtp://",
  "smtp://mail.example.com/path",
  "smtp://mail.example.com?tls=off",
  "smtps://mail.example.com?tls=optional",
  "smtp://ann:%ZZ@mail.example.com",
])("GATEHOUSE_SMTP_URL rejects %s", (smtpUrl) => {
  const environment = { GATEHOUSE_SMTP_URL: smtpUrl, GATEHOUSE_MAIL_FROM: "gatehouse@example.com" };
  expect(problems({ environment })[0]).toMatch(/^GATEHOUSE_SMTP_URL must be a URL such as /);
});

test("the SMTP server and the sender are set together", () => {
  const together = "GATEHOUSE_SMTP_URL and GATEHOUSE_MAIL_FROM must be set together.";
  expect(problems({ environment: { GATEHOUSE_SMTP_URL: "smtp://mail.example.com" } })).toEqual([together]);
  expect(problems({ environment: { GATEHOUSE_MAIL_FROM: "gatehouse@example.com" } })).toEqual([together]);
});

test.each([
  ["a whole token", generateToken(tokenPrefixes.apiKey)],
  ["a token with a wrong checksum", generateToken(tokenPrefixes.apiKey).slice(0, -1)],
  ["a text with a token prefix", "gatehouse_op_chosen-by-somebody-else"],
])("a key can have a token prefix: %s", (_what, chosen) => {
  expect(read({ flags: { operatorKey: chosen } }).operatorKey).toBe(chosen);
  expect(read({ flags: { bootstrapApiKey: chosen } }).bootstrapApiKey).toBe(chosen);
});

test.each([
  ["GATEHOUSE_HOST", "192.0.2.256", 'must be an IP address or a host name, without a port; it is "192.0.2.256".'],
  ["GATEHOUSE_HOST", "127.0.0.1:80", 'must be an IP address or a host name, without a port; it is "127.0.0.1:80".'],
  ["GATEHOUSE_PORT", "65536", 'must be an integer from 0 to 65535; it is "65536".'],
  ["GATEHOUSE_PORT", "80a", 'must be an integer from 0 to 65535; it is "80a".'],
  ["GATEHOUSE_DATABASE_POOL_SIZE", "1", 'must be an integer from 2 to 500; it is "1".'],
  ["GATEHOUSE_LOG_LEVEL", "loud", 'must be one of fatal, error, warn, info, debug, trace, silent; it is "loud".'],
  ["GATEHOUSE_DEMO", "yes", 'must be true or false; it is "yes".'],
  ["GATEHOUSE_BOOTSTRAP_TENANT_NAME", "a\nb", 'must be 1 to 120 characters without control characters; it is "a\\nb".'],
  ["GATEHOUSE_BOOTSTRAP_OWNER_EMAIL", "owner", 'must be an email address; it is "owner".'],
  [
    "GATEHOUSE_TRUSTED_PROXIES",
    "192.0.2.7/24",
    /^must be IP addresses and CIDRs, separated by commas\. .*192\.0\.2\.7\/24/,
  ],
])("%s=%s is rejected with the expected format", (variable, text, message) => {
  const [problem = "", ...others] = problems({ environment: { [variable]: text } });
  expect(others).toEqual([]);
  expect(problem.startsWith(`${variable} `)).toBe(true);
  expect(problem.slice(variable.length + 1)).toEqual(
    typeof message === "string" ? message : expect.stringMatching(message),
  );
});

test.each([
  ["masterKey", "c2VjcmV0c2VjcmV0", "must be 32 bytes in base64; it has 12."],
  [
    "masterKey",
    Buffer.alloc(32, 255).toString("base64url"),
    "must be 32 bytes in base64; it contains characters that are not base64.",
  ],
  ["operatorKey", "secret", "must be 32 to 200 printable characters without spaces; it has 6."],
  [
    "bootstrapApiKey",
    "secret ".repeat(6),
    "must be 32 to 200 printable characters without spaces; it contains a space or",
  ],
  ["databaseUrl", "mysql://user:secret@db.example.com/g", "must be a URL such as"],
  ["databaseUrl", "postgres://user:secret@db.example.com:port/g", "must be a URL such as"],
])("an invalid %s is named but not shown", (name, secret, message) => {
  const [problem = "", ...others] = problems({ flags: { [name]: secret } });
  expect(others).toEqual([]);
  expect(problem.startsWith(`${flagOf(name)} ${message}`)).toBe(true);
  expect(problem).not.toContain("secret");
  expect(problem).not.toContain(secret);
});

test.each(settingNames.filter((name) => settings[name].secret))("an invalid %s is never shown", (name) => {
  for (const text of [
    "hidden-word",
    `hidden-word ${"x".repeat(40)}`,
    "postgres://user:hidden-word@[/g",
    "é".repeat(40),
  ]) {
    for (const problem of problems({ environment: { [variableOf(name)]: text } })) {
      expect(problem).toContain(variableOf(name));
      expect(problem).not.toMatch(/hidden-word|é/);
    }
  }
});

test("the first tenant's key cannot be the operator's", () => {
  expect(problems({ flags: { operatorKey: key, bootstrapApiKey: key } })).toEqual([
    "GATEHOUSE_BOOTSTRAP_API_KEY must be another key than GATEHOUSE_OPERATOR_KEY.",
  ]);
});

test("an unknown variable stops the start and suggests the likely one", () => {
  expect(problems({ environment: { GATEHOUSE_PROT: "1" } })).toEqual([
    "GATEHOUSE_PROT is not a setting. Did you mean GATEHOUSE_PORT?",
  ]);
  expect(problems({ environment: { GATEHOUSE_COLOUR_SCHEME: "1" } })).toEqual([
    "GATEHOUSE_COLOUR_SCHEME is not a setting. gatehouse serve --help lists them.",
  ]);
});

test("variables of client commands and tests are ignored", () => {
  const environment = { GATEHOUSE_URL: "x", GATEHOUSE_API_KEY: "y", GATEHOUSE_TEST_DATABASE_URL: "z", PATH: "p" };
  expect(problems({ environment })).toEqual([]);
});

test("variables that Kubernetes sets for a Service called gatehouse are recognized", () => {
  const found = problems({
    environment: { GATEHOUSE_PORT: "tcp://192.0.2.1:80", GATEHOUSE_SERVICE_HOST: "192.0.2.1" },
  });
  expect(found).toHaveLength(2);
  for (const problem of found) expect(problem).toContain("enableServiceLinks: false");
});

test("all problems are reported at once", () => {
  expect(
    problems({ flags: { port: "x" }, environment: { GATEHOUSE_HOST: "?", GATEHOUSE_NONSENSE: "1" } }),
  ).toHaveLength(3);
});

test("a settings file can contain strings, numbers, booleans and lists of strings", () => {
  const config = settingsFile('{"port": 9000, "demo": true, "trustedProxies": ["192.0.2.1", "192.0.2.2"]}');
  expect(read({ flags: { config } })).toMatchObject({
    port: 9000,
    demo: true,
    trustedProxies: ["192.0.2.1", "192.0.2.2"],
  });
});

test.each([
  ['{"prot": 1}', /^"prot" in .* is not a setting\. Did you mean port\?$/],
  ['{"toString": "x"}', /^"toString" in .* is not a setting\./],
  ['{"port": "eighty"}', /^"port" in .* must be an integer from 0 to 65535; it is "eighty"\.$/],
  ['{"port": null}', /^"port" in .* must be a string, a number, true, false, or a list of strings\.$/],
  ["[1]", /must hold one JSON object/],
  ['{"operatorKey": "secret', /cannot be read: it is not JSON, see line 1\.$/],
  ['{\n  "operatorKey": "secret",\n  "port" 8080\n}', /cannot be read: it is not JSON, see line 3\.$/],
  ['{"operatorKey": secret at position 7}', /cannot be read: it is not JSON\.$/],
])("a settings file with %s is rejected", (content, message) => {
  const found = problems({ flags: { config: settingsFile(content) } });
  expect(found).toEqual([expect.stringMatching(message)]);
  expect(found[0]).not.toContain("secret");
});

test("a missing settings file is named", () => {
  const config = join(folder, "missing.json");
  expect(problems({ environment: { GATEHOUSE_CONFIG: config } })).toEqual([
    `The settings file ${config} does not exist. Create it, or remove --config or GATEHOUSE_CONFIG.`,
  ]);
});

describe("the public address", () => {
  test.each([
    ["https://gatehouse.example.com", "https://gatehouse.example.com"],
    ["https://gatehouse.example.com/", "https://gatehouse.example.com"],
    ["HTTPS://Gatehouse.Example.com:443", "https://gatehouse.example.com"],
    ["http://localhost:9000", "http://localhost:9000"],
    ["https://192.0.2.1:8443", "https://192.0.2.1:8443"],
    ["https://[2001:db8::1]", "https://[2001:db8::1]"],
  ])("%s is read as the origin %s", (text, origin) => {
    expect(read({ flags: { publicUrl: text } }).publicUrl).toBe(origin);
  });

  const expected = "--public-url must be an address such as https://gatehouse.example.com";
  test.each([
    ["gatehouse.example.com", '; it is "gatehouse.example.com".'],
    ["ftp://gatehouse.example.com", '; it is "ftp://gatehouse.example.com".'],
    ["https://gatehouse.example.com/sub", ', without a path; it is "https://gatehouse.example.com/sub".'],
    ["https://gatehouse.example.com/?a", ', without a path; it is "https://gatehouse.example.com/?a".'],
    ["https://gatehouse.example.com/#", ', without a path; it is "https://gatehouse.example.com/#".'],
    ["https://0.0.0.0:8080", ', with a valid host; it is "https://0.0.0.0:8080".'],
    ["https://a;b", ', with a valid host; it is "https://a;b".'],
    ["https://user:hidden@gatehouse.example.com", "; it contains a user or a password."],
  ])("%s is refused with the reason", (text, rest) => {
    expect(problems({ flags: { publicUrl: text } })).toEqual([`${expected}${rest}`]);
  });
});

test("a certificate requires its key", () => {
  const problem = "GATEHOUSE_TLS_CERT and GATEHOUSE_TLS_KEY must be set together.";
  expect(problems({ flags: { tlsCert: "tls.crt" } })).toEqual([problem]);
  expect(problems({ flags: { tlsKey: "tls.key" } })).toEqual([problem]);
});

const acme = { acmeDirectory: "https://acme.example.com/directory", publicUrl: "https://gatehouse.example.com" };

test.each<[string, Record<string, string>, RegExp]>([
  [
    "a public address without TLS",
    { ...acme, publicUrl: "http://gatehouse.example.com" },
    /needs GATEHOUSE_PUBLIC_URL/,
  ],
  ["an IP address", { ...acme, publicUrl: "https://192.0.2.1" }, /needs GATEHOUSE_PUBLIC_URL/],
  ["an IPv6 address", { ...acme, publicUrl: "https://[2001:db8::1]" }, /needs GATEHOUSE_PUBLIC_URL/],
  ["no public address", { acmeDirectory: acme.acmeDirectory }, /needs GATEHOUSE_PUBLIC_URL/],
  ["certificate files", { ...acme, tlsCert: "tls.crt", tlsKey: "tls.key" }, /exclude each other/],
  ["a directory without TLS", { ...acme, acmeDirectory: "http://acme.example.com" }, /must be a URL such as https/],
  ["a contact without a directory", { acmeContact: "a@example.com" }, /ACME_CONTACT needs GATEHOUSE_ACME_DIRECTORY/],
])("an ACME authority is refused with %s", (_what, flags, problem) => {
  expect(problems({ flags })).toEqual([expect.stringMatching(problem)]);
});

test("an ACME authority needs its directory and a public address with TLS", () => {
  expect(read({ flags: acme })).toMatchObject(acme);
});
