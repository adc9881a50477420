import { expect, test } from "vitest";
import { DeviceConnection, type DeviceReason } from "../devices/device-connection.ts";
import { ConnectionRegistry } from "./connection-registry.ts";

const transport = {
  bufferedBytes: 0,
  pause: () => undefined,
  resume: () => undefined,
  send: () => undefined,
  close: () => undefined,
  terminate: () => undefined,
};
const agent = { tenantId: "one", agentId: "laptop", tokenHash: "" };
const newConnection = () => new DeviceConnection(agent, transport, "192.0.2.1", 3, 0);

/** A registry in which as many connections of an agent arrive as are allowed. */
function crowded() {
  const registry = new ConnectionRegistry<DeviceReason, DeviceConnection>();
  const arriving = Array.from({ length: 16 }, newConnection);
  for (const connection of arriving) expect(registry.arrive(connection)).toBeUndefined();
  return { registry, arriving };
}

test("the oldest arriving connection makes room", () => {
  const { registry, arriving } = crowded();
  const [oldest, next] = arriving;
  expect(registry.arrive(newConnection())).toBe(oldest);
  if (oldest !== undefined) registry.delete(oldest);
  expect(registry.size).toBe(16);
  expect(registry.arrive(newConnection())).toBe(next);
});

test("connections with a doubtful key make room before all others", () => {
  const { registry, arriving } = crowded();
  expect(registry.arrive(newConnection(), (connection) => connection === arriving[7])).toBe(arriving[7]);
});

test("a doubtful connection makes room itself if no other one is doubtful", () => {
  const { registry } = crowded();
  const doubtful = newConnection();
  expect(registry.arrive(doubtful, (connection) => connection === doubtful)).toBe(doubtful);
});
