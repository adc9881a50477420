/** Sessions of devices on the command line, against a real server. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";
import { type ServedInstallation, serveHere } from "../testing/served-here.ts";

let server: ServedInstallation;

beforeAll(async () => {
  server = await serveHere();
});
afterAll(() => server?.close());

const run = (...args: string[]) =>
  runHere(["device-session", ...args, "--url", server.url, "--api-key", server.apiKey]);

async function created(of: string, body: object): Promise<{ readonly id: string }> {
  const response = await fetch(`${server.url}/tenants/${of}`, {
    method: "POST",
    headers: { apikey: server.apiKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as { readonly id: string };
}

test("sessions are listed and ended, and users are asked by device, address and group", async () => {
  const { id: groupId } = await created("groups", { name: "Contractors" });
  const devices: string[] = [];
  for (const [index, name] of ["ann", "bob", "eve"].entries()) {
    const groups = name === "eve" ? [groupId] : [];
    const { id: userId } = await created("users", { email: `${name}@example.com`, groups });
    const publicKey = `${"BCD"[index]?.repeat(42)}A=`;
    devices.push((await created("devices", { name: `${name}-laptop`, userId, hardwareId: name, publicKey })).id);
  }
  const [ann = "", bob = ""] = devices;
  const listed = await run("list");
  expect(listed.code, listed.errors).toBe(0);
  expect(listed.output.match(/not-signed-in/g)).toHaveLength(3);

  expect((await run("end", ann)).output).toContain("must sign in again");
  const asked = await run("require-sign-in", "--user", "bob@example.com", "--group", "Contractors");
  expect(asked.code, asked.errors).toBe(0);
  const ended = await run("list", "--state", "ended");
  for (const name of ["ann-laptop", "bob-laptop", "eve-laptop"]) expect(ended.output).toContain(name);
  expect(ended.output).toContain("a new sign-in was required, by ");
  expect(ended.output).not.toContain("sign-in-required");
  const { output } = await run("list", "--user", "bob@example.com", "--json");
  expect(JSON.parse(output)).toMatchObject([{ id: bob, state: "ended" }]);
  for (const group of [groupId, "Contractors"]) {
    const { output: ofGroup } = await run("list", "--group", group);
    expect(ofGroup).toContain("eve-laptop");
    expect(ofGroup).not.toContain("ann-laptop");
  }
  expect((await run("list", "--group", groupId, "--state", "active")).output).toContain("No device sessions.");
  expect((await run("list", "--group", "Nobody")).errors).toContain("No group is named Nobody.");

  expect((await run("require-sign-in")).errors).toContain("No device, user or group is named.");
  expect((await run("require-sign-in", "--group", "Nobody")).errors).toContain("No group is named Nobody.");
});
