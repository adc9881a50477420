import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { clockErrorMinutes, connectionFault } from "./link-messages.ts";

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

function faultAt(url: string): Promise<string> {
  return new Promise((resolve) => new WebSocket(url).on("error", (error) => resolve(connectionFault(error))));
}

async function portOf(server: ReturnType<typeof createTcpServer>): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port; // of a server that listens on TCP
}

test("TLS to a plain HTTP server suggests http://", async () => {
  const port = await portOf(createServer());
  expect(await faultAt(`wss://127.0.0.1:${port}`)).toContain("Use http://");
});

test("plain HTTP to a TLS server suggests https://", async () => {
  const port = await portOf(
    createTcpServer((socket) => socket.on("error", () => {}).end(Buffer.from("15030300020246", "hex"))),
  );
  expect(await faultAt(`ws://127.0.0.1:${port}`)).toContain("Use https://");
});

test("the fault of several addresses names each one", () => {
  const each = ["connect ECONNREFUSED ::1:9", "connect ECONNREFUSED 127.0.0.1:9"];
  const error = new AggregateError(each.map((text) => new Error(text)));
  expect(connectionFault(error)).toBe(each.join(", "));
});

test.each([
  [0, undefined],
  [5 * 60_000, undefined],
  [3 * 3_600_000, 180],
  [-25 * 3_600_000, -1500],
])("a clock that is %i ms off is ahead by %s minutes", (offMs, minutes) => {
  expect(clockErrorMinutes(1_000_000_000_000, 1_000_000_000_000 + offMs)).toBe(minutes);
});
