import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { clockWarning, connectionFault } from "./link-messages.ts";

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

test("TLS to who does not speak it is said to be that", async () => {
  const port = await portOf(createServer());
  expect(await faultAt(`wss://127.0.0.1:${port}`)).toContain("is it http://");
});

test("and the other way round", async () => {
  const port = await portOf(
    createTcpServer((socket) => socket.on("error", () => {}).end(Buffer.from("15030300020246", "hex"))),
  );
  expect(await faultAt(`ws://127.0.0.1:${port}`)).toContain("is it https://");
});

test("where several addresses were tried, each says why", () => {
  const each = ["connect ECONNREFUSED ::1:9", "connect ECONNREFUSED 127.0.0.1:9"];
  const error = new AggregateError(each.map((text) => new Error(text)));
  expect(connectionFault(error)).toBe(each.join(", "));
});

test.each([
  [0, undefined],
  [5 * 60_000, undefined],
  [3 * 3_600_000, "180 minutes ahead of"],
  [-25 * 3_600_000, "1500 minutes behind"],
])("of a clock that is %i ms off is said: %s", (offMs, text) => {
  const warning = clockWarning(1_000_000_000_000, 1_000_000_000_000 + offMs);
  if (text === undefined) expect(warning).toBeUndefined();
  else expect(warning).toContain(text);
});
