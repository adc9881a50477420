import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../testing/until.ts";
import { allowStall, limitStalls } from "./stalled-responses.ts";

const stallMs = 50;
/** More than the buffers of the system hold. */
const large = Buffer.alloc(32 * 1024 * 1024);

/** Sends a request over HTTP/1.1, and reads nothing. */
async function requestWithoutReading(handler: RequestListener, limitMs = stallMs) {
  const server = createServer({ keepAliveTimeout: 600_000 }, handler);
  limitStalls(server, limitMs);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo; // of a server that listens on TCP
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  onTestFinished(() => {
    socket.destroy();
    server.close();
    server.closeAllConnections();
  });
  const requested = once(server, "request");
  socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const [request, response] = (await requested) as [IncomingMessage, ServerResponse];
  return { response, connection: request.socket, socket };
}

test("a response that its client does not read is closed", async () => {
  const { connection } = await requestWithoutReading((_request, sent) => sent.end(large));
  await until("the connection is closed", () => connection.destroyed);
});

test("a response that waits for the server is not closed, until its client does not read it", async () => {
  const { response, connection } = await requestWithoutReading(() => undefined);
  await once(response, "timeout");
  expect(connection.destroyed).toBe(false);
  response.end(large);
  await until("the connection is closed", () => connection.destroyed);
});

test("a response with a longer limit is closed after that", async () => {
  const { response, connection } = await requestWithoutReading((_request, sent) => {
    allowStall(sent, 200);
    sent.end(large);
  });
  await once(response, "timeout");
  expect(connection.destroyed).toBe(false);
  await until("the connection is closed", () => connection.destroyed);
});

test("a client that reads slowly gets the whole response", async () => {
  // Each pause is much shorter than the limit, and all pauses together are longer.
  const [limitMs, pauseMs] = [2_000, 300];
  const { response, connection, socket } = await requestWithoutReading((_request, sent) => sent.end(large), limitMs);
  let received = 0;
  let checked = 0;
  socket.on("data", async (chunk: Buffer) => {
    received += chunk.length;
    if (received - checked < 4 * 1024 * 1024) return;
    checked = received;
    socket.pause();
    await sleep(pauseMs);
    socket.resume();
  });
  await once(response, "finish");
  expect(connection.destroyed).toBe(false);
});
