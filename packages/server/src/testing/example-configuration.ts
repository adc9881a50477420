/** A configuration with one record of each kind, and helpers that call its operations. */
import { expect } from "vitest";
import type { TestClient, TestReply } from "./test-server.ts";

export const configurationPath = "/tenants/configuration";

export const defaultGroup = {
  name: "Default",
  description: "Users who are not in any other group.",
  roles: ["DEFAULT"],
  isSamlDefaultGroup: true,
};
/** The owner of every test tenant. */
export const owner = { email: "owner@example.com" };

/** No record that can be deleted. */
export const emptied = {
  groups: [defaultGroup],
  users: [owner],
  protocols: [],
  gateways: [],
  resources: [],
  admissionRules: [],
  policies: { PRIVATE: [], SAAS: [], INTERNET: [], SITETOSITE: [] },
  defaultInternetPolicy: { mode: "LOCAL" },
};

/** One record of each kind, in the format and order of exports. */
export const whole = {
  version: 1,
  groups: [defaultGroup, { name: "Engineering", roles: ["SUPPORT"], maxDevices: 7, idpMapping: ["eng", "build"] }],
  users: [
    {
      email: "ann@example.com",
      firstName: "Ann",
      lastName: "Example",
      groups: ["Engineering"],
      roles: ["AUDITOR", "BASIC"],
      maxDevices: 0,
      attributes: { contractor: false, country: "DE", level: 3 },
    },
    { email: "ben@example.com" },
    owner,
  ],
  protocols: [
    {
      name: "Build",
      networkProtocols: [{ protocol: "TCP", port: 8443 }, { protocol: "UDP", port: "5000-5100" }, { protocol: "ICMP" }],
    },
  ],
  gateways: [
    { name: "Cloud", wireguardPort: 51820, description: "Far away", endpoint: "vpn.example.com", relayEnabled: true },
    { name: "Office", wireguardPort: 51821 },
  ],
  resources: [
    {
      name: "Build server",
      type: "PRIVATE",
      description: "Builds",
      loadBalancingMode: "AUTOMATIC",
      gateways: ["Office", "Cloud"],
      addresses: [
        { address: "10.0.0.0/24", protocols: ["Build", "SSH"] },
        { address: "build.example.com", protocols: ["HTTPS"] },
      ],
    },
    { name: "Wiki", type: "SAAS" },
  ],
  admissionRules: [
    { name: "Hours", rule: "now.getHours() > 7", hasTimeConstraint: true },
    { name: "Linux", rule: "device.os == 'Linux'" },
  ],
  policies: {
    PRIVATE: [
      { name: "Second by name", action: false, allUsers: true, resources: ["Build server"] },
      {
        name: "First by name",
        description: "For builders",
        action: true,
        active: false,
        groups: ["Default", "Engineering"],
        users: ["ann@example.com"],
        resources: ["Build server"],
        gateways: ["Office", "Cloud"],
        sourceIps: ["192.0.2.0/24", "2001:db8::1"],
        rule: "Linux",
      },
    ],
    SAAS: [{ name: "Wiki for all", action: true, allGroups: true, allResources: true }],
    INTERNET: [{ name: "Through the office", action: true, mode: "INTERNET_ACCESS_POINT", allDevices: true }],
    SITETOSITE: [{ name: "Sites", action: true, allResources: true }],
  },
  defaultInternetPolicy: { mode: "RESTRICTED", gateways: ["Cloud"], description: "The rest" },
  identityProviders: [
    { name: "Example sign-in", issuer: "https://login.example.com", clientId: "gatehouse", firstSignIn: "INVITED" },
  ],
  settings: { configurationLifetime: 43_200, sessionLifetime: 28_800, deviceApproval: "administrator" },
};

export interface ConfigurationCalls {
  exported(): Promise<TestReply["body"]>;
  /** The version is added to documents. */
  plan(document: object): Promise<TestReply>;
  apply(document: object, headers?: Readonly<Record<string, string>>): Promise<TestReply>;
  /** Applies a document and expects success. */
  applied(document: object): Promise<void>;
}

export function configurationCalls(client: TestClient): ConfigurationCalls {
  const apply: ConfigurationCalls["apply"] = (document, headers) =>
    client.post(`${configurationPath}/apply`, { version: 1, ...document }, headers);
  return {
    exported: async () => (await client.get(configurationPath)).body,
    plan: (document) => client.post(`${configurationPath}/plan`, { version: 1, ...document }),
    apply,
    async applied(document) {
      const { status, text } = await apply(document);
      expect(status, text).toBe(200);
    },
  };
}
