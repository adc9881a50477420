/** The pages of the console, and records for those that the example organisation leaves empty. */
import type { ConsoleWorld } from "./console-world.ts";

interface ConsolePage {
  readonly path: string;
  readonly title: string;
  /** Whether `?new=1` opens the dialog that creates a record. */
  readonly creates?: true;
  /** The page lists records that have pages. Buttons on these pages open dialogs if records can be changed. */
  readonly records?: "read-only" | "changeable";
}

export const pages: readonly ConsolePage[] = [
  { path: "overview", title: "Overview" },
  { path: "publish", title: "Publish a resource" },
  { path: "design", title: "Design system" },
  { path: "users", title: "Users", creates: true, records: "changeable" },
  { path: "groups", title: "Groups", creates: true, records: "changeable" },
  { path: "devices", title: "Devices", creates: true, records: "changeable" },
  { path: "device-approvals", title: "Device approvals" },
  { path: "device-sessions", title: "Device sessions" },
  { path: "enrolment-keys", title: "Enrolment keys", creates: true, records: "changeable" },
  { path: "gateways", title: "Gateways", creates: true, records: "changeable" },
  { path: "resources", title: "Resources", creates: true, records: "changeable" },
  { path: "addresses", title: "Addresses", creates: true, records: "changeable" },
  { path: "protocols", title: "Protocols", creates: true, records: "changeable" },
  { path: "access", title: "Access" },
  { path: "policies", title: "Policies", creates: true, records: "changeable" },
  { path: "admission-rules", title: "Admission rules", creates: true, records: "changeable" },
  { path: "access-tests", title: "Access tests", creates: true, records: "changeable" },
  { path: "roles", title: "Roles", records: "read-only" },
  { path: "api-keys", title: "API keys", creates: true, records: "changeable" },
  { path: "identity-providers", title: "Identity providers", creates: true, records: "changeable" },
  { path: "domains", title: "Domains", creates: true },
  { path: "webhooks", title: "Webhooks", creates: true, records: "changeable" },
  { path: "events", title: "Events", records: "read-only" },
  { path: "sign-ins", title: "Sign-in log" },
  { path: "configuration", title: "Configuration file" },
  { path: "settings", title: "Settings" },
  { path: "guides", title: "Guides", records: "read-only" },
];

/** Adds a record for each list that would be empty, or whose first record is built in and cannot be changed. */
export async function addRecords({ client }: ConsoleWorld): Promise<ReadonlyMap<string, string>> {
  const [{ id: userId }] = (await client.must.get("/tenants/users")).body.data;
  const records = {
    "identity-providers": { name: "Login", issuer: "https://login.example.com", clientId: "gatehouse" },
    "enrolment-keys": { name: "Servers", userId, tags: ["build"] },
    domains: { domain: "example.com" },
    webhooks: { url: "https://hooks.example.com/gatehouse", active: false },
    protocols: { networkProtocols: [{ protocol: "TCP", port: "8443" }] },
    "admission-rules": { name: "Encrypted", rule: "device.posture.diskEncrypted == true", hasTimeConstraint: false },
    "access-tests": {
      name: "Nobody reaches File shares",
      subject: { type: "everyone" },
      resource: { type: "resource", id: "File shares" },
      expected: "denied",
    },
  };
  const ids = new Map<string, string>();
  for (const [path, record] of Object.entries(records)) {
    ids.set(path, (await client.must.post(`/tenants/${path}`, record)).body.id);
  }
  return ids;
}
