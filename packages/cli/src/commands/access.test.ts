import { sharedTestServer, type TestServer, type TestTenant } from "@gatehouse/server/testing/test-server";
import { beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let server: TestServer;
let tenant: TestTenant;
let url: string;
let device: string;

beforeAll(async () => {
  server = await sharedTestServer();
  tenant = await server.newTenant();
  url = await server.listen();
  const make = async (path: string, body: object): Promise<string> => {
    const reply = await tenant.client.post(`/tenants/${path}`, body);
    expect(reply.status, reply.text).toBe(201);
    return reply.body.id;
  };
  const engineers = await make("groups", { name: "Engineers" });
  const user = await make("users", { email: "ann@example.com", groups: [engineers] });
  const publicKey = Buffer.alloc(32, 5).toString("base64");
  const posture = { diskEncrypted: true };
  device = await make("devices", { name: "Laptop", userId: user, hardwareId: "SERIAL-1", publicKey, posture });
  const git = await make("resources", { name: "Git", type: "PRIVATE", addresses: [] });
  const rule = "device.posture.diskEncrypted == true &&\n  source.country == 'DE'";
  const strict = await make("admission-rules", { name: "Encrypted disk", rule, hasTimeConstraint: false });
  const policy = { name: "Engineers use Git", type: "PRIVATE", action: true };
  await make("policies", { ...policy, groups: [engineers], resources: [git], rule: strict });
});

const access = (...args: string[]) => runHere(["access", ...args, "--url", url, "--api-key", tenant.key]);
const ann = ["--user", "ann@example.com"];

test("explain shows an allowed request", async () => {
  const { code, output } = await access("explain", ...ann, "--device", device, "--resource", "Git", "--country", "DE");
  expect(code).toBe(0);
  expect(output).toBe(`Allowed: allowed by policy, no reachable gateway.
  Policy    Engineers use Git
  Resource  Git

Policies, in order of evaluation:
  Engineers use Git: allows, decided (for group Engineers)
    met      device.posture.diskEncrypted == true && source.country == 'DE'
      met      device.posture.diskEncrypted == true  [device.posture.diskEncrypted is true]
      met      source.country == 'DE'  [source.country is "DE"]
`);
});

test("explain shows a denied request and its nearest miss", async () => {
  const { output } = await access("explain", "--device", device, "--resource", "Git", "--country", "FR");
  expect(output).toMatch(/^Denied: no policy allows access\.\n/);
  expect(output).toContain(`not met  source.country == 'DE'  [source.country is "FR"]`);
  expect(output).toMatch(/\n"Engineers use Git" would allow this if:\n {2}source\.country == 'DE'\n$/);
});

test("explain accepts an address, a protocol and a time", async () => {
  const where = ["--address", "www.example.net", "--protocol", "TCP", "--port", "443"];
  const { output } = await access("explain", "--user", "owner@example.com", ...where, "--at", "2026-03-04T10:00Z");
  expect(output).toContain("Mode      LOCAL");
});

test("who-can and what-can list their results", async () => {
  const who = await access("who-can", "--resource", "Git", "--devices", "--country", "DE");
  expect(who.output).toMatch(/^DEVICE +POLICY +THROUGH +ID\nLaptop +Engineers use Git +\S+\n$/);
  const what = await access("what-can", "--device", device, "--country", "DE");
  expect(what.output).toMatch(/^RESOURCE +POLICY +THROUGH +ID\nGit +Engineers use Git +\S+\n$/);
  expect((await access("what-can", ...ann)).output).toBe("No results.\n");
  const json = await access("what-can", ...ann, "--device", device, "--country", "DE", "--json");
  expect(JSON.parse(json.output)).toMatchObject([{ name: "Git", reason: "allowed_by_policy" }]);
});

test.each([
  [["who-can", "--resource", "Gti"], 'There is no resource "Gti".\n'],
  [["who-can", "--resource", "Gti", "--devices"], 'There is no resource "Gti".\n'],
  [["what-can", "--user", "typo@example.com"], 'There is no user "typo@example.com".\n'],
  [["what-can", "--device", "typo"], 'There is no device "typo".\n'],
])("%j fails for an unknown name", async (command, errors) => {
  expect(await access(...command)).toMatchObject({ code: 1, output: "", errors });
  const json = await access(...command, "--json");
  expect({ code: json.code, errors: JSON.parse(json.errors) }).toEqual({ code: 1, errors: { title: errors.trim() } });
});

test("who-can says why an address leads nowhere", async () => {
  expect((await access("who-can", "--address", "a b")).output).toBe("No results: invalid address.\n");
});

test("at lists past access across pages", async () => {
  const moment = new Date().toISOString();
  const found = await access("at", moment, "--user", "ann@example.com", "--country", "DE");
  expect(found.output).toMatch(
    /^USER +DEVICE +RESOURCE +POLICY +THROUGH *\nann@example.com +Laptop +Git +Engineers use Git *\n$/,
  );
  expect((await access("at", moment, "--user", "ann@example.com")).output).toBe("No results.\n");
  const json = await access("at", moment, "--resource", "Git", "--country", "DE", "--json");
  expect(JSON.parse(json.output)).toMatchObject([{ device: { id: device }, resource: { name: "Git" } }]);
  const early = await access("at", "2000-01-01T00:00Z", "--resource", "Git");
  expect(early.code).not.toBe(0);
  expect(early.errors).toContain("begins at");
  // More than one page of a list without ids.
  const resources: string[] = [];
  for (let index = 0; index < 120; index += 1) {
    const site = { name: `Site ${index}`, type: "SAAS", addresses: [] };
    resources.push((await tenant.client.post("/tenants/resources", site)).body.id);
  }
  const users = [(await tenant.client.get("/tenants/users?filter[email]=ann@example.com")).body.data[0].id];
  await tenant.client.must.post("/tenants/policies", { name: "Sites", type: "SAAS", action: true, users, resources });
  const all = await access("at", new Date().toISOString(), "--user", "ann@example.com", "--json");
  expect(new Set(JSON.parse(all.output).map((one: object) => JSON.stringify(one))).size).toBe(240);
});

test("at marks gateways that load balancing orders", async () => {
  const make = async (path: string, body: object) => (await tenant.client.must.post(`/tenants/${path}`, body)).body.id;
  const user = await make("users", { email: "bob@example.com" });
  const publicKey = Buffer.alloc(32, 7).toString("base64");
  await make("devices", { name: "Phone", userId: user, hardwareId: "SERIAL-2", publicKey });
  const gateways = [
    await make("gateways", { name: "Berlin", wireguardPort: "51820" }),
    await make("gateways", { name: "Oslo", wireguardPort: "51820" }),
  ];
  const mail = await make("resources", { name: "Mail", type: "SAAS", addresses: [] });
  const balancing = { loadBalancingMode: "AUTOMATIC", gateways };
  await tenant.client.must.post(`/tenants/resources/${mail}/loadBalancing`, balancing);
  await make("policies", { name: "Mail", type: "SAAS", action: true, users: [user], resources: [mail] });
  const { output } = await access("at", new Date().toISOString(), "--resource", "Mail");
  expect(output).toMatch(/Phone +Mail +Mail +(Berlin, Oslo|Oslo, Berlin) \(balanced\)/);
});

test.each([
  [["explain", "--resource", "Git"], "The subject is missing"],
  [["explain", "--user", "x"], "The destination is missing"],
  [["at", "2026-03-04T10:00Z"], "The subject or the resource is missing"],
  [["explain", "--user", "x", "--resource", "Git", "--port", "22"], "require --address"],
  [["who-can", "--address", "192.0.2.1", "--protocol", "TCP", "--port", "99999"], "Use 1 to 65535"],
  [["who-can", "--resource", "Git", "--address", "192.0.2.1"], "cannot be used with"],
])("an incomplete or contradictory command line is rejected: %j", async (args, message) => {
  const { code, errors } = await access(...args);
  expect(code).toBe(2);
  expect(errors).toContain(message);
});

test("an error of the server is shown", async () => {
  const { code, errors } = await access("what-can", ...ann, "--at", "tomorrow");
  expect(code).toBe(1);
  expect(errors).toContain("/context/time");
});
