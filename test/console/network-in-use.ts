/** The example organisation in daily use: gateways hold their configurations, and devices are online. */
import { until } from "@gatehouse/server/testing/until";
import { expect } from "vitest";
import type { ConsoleWorld } from "./console-world.ts";
import { connectGateway, type DeployedGateway } from "./deployed-gateway.ts";

const enforced = [
  ["Contractors never reach production", { type: "user", id: "engineer-05@example.com" }, "Production databases"],
  ["Sales never reach Payroll", { type: "group", id: "Sales" }, "Payroll"],
] as const;

/** Connects the gateways that are not in maintenance. @returns them; stop each after the test */
export async function putInUse(world: ConsoleWorld): Promise<readonly DeployedGateway[]> {
  const gateways: readonly { readonly status: string; readonly token: string }[] = (
    await world.client.get("/tenants/gateways")
  ).body;
  const connected = gateways
    .filter(({ status }) => status !== "MAINTENANCE")
    .map(({ token }) => connectGateway(world.url, async () => token));
  const online = async () => {
    const all: readonly { readonly status: string }[] = (await world.client.get("/tenants/gateways")).body;
    return all.filter(({ status }) => status === "ONLINE").length;
  };
  await until("the gateways are ONLINE", async () => (await online()) === connected.length);
  for (const [index, { agent }] of connected.entries()) {
    await until("it holds a configuration", () => agent.held !== undefined);
    const peers = Object.entries(agent.held?.content.peers ?? {}).filter(([, { kind }]) => kind === "device");
    agent.peers = peers
      .filter((_, place) => place % 5 === index)
      .map(([peer]) => ({
        peer,
        // The device stays online for as long as the gateway reports it.
        get lastHandshake() {
          return Date.now();
        },
        receivedBytes: 0,
        sentBytes: 0,
      }));
  }
  const devicesOnline = async () => {
    const { data } = (await world.client.get("/tenants/devices?limit=100")).body;
    return data.some(({ status }: { readonly status: string }) => status === "Online");
  };
  await until("devices are Online", devicesOnline, 40_000);
  for (const [name, subject, resource] of enforced) {
    const made = await world.client.post("/tenants/access-tests", {
      name,
      subject,
      resource: { type: "resource", id: resource },
      expected: "denied",
      enforced: true,
    });
    expect(made.status, made.text).toBe(201);
  }
  return connected;
}
