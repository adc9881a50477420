import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { testLog } from "../testing/test-log.ts";
import { respondToClientError } from "./client-errors.ts";
import { RequestTurns } from "./request-turns.ts";

/** Sends text over one connection. @returns everything that the server wrote */
async function answersTo(handler: RequestListener, ...parts: readonly string[]): Promise<string> {
  const turns = new RequestTurns();
  const server = createServer(turns.inTurn(handler));
  server.on("clientError", (error, socket) => {
    // The type of the event is that of any stream, but this server's connections are sockets.
    respondToClientError(error, socket as Parameters<typeof respondToClientError>[1], turns, testLog);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo; // of a server that listens on TCP
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  socket.write(parts.join(""));
  return text(socket);
}

const get = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
const malformed = "NOT HTTP\r\n\r\n";
const upload = "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";

test("a malformed request is answered", async () => {
  expect(await answersTo(() => undefined, malformed)).toMatch(/^HTTP\/1\.1 400 /);
});

test("a malformed body is answered", async () => {
  expect(await answersTo(() => undefined, upload, "no length\r\n")).toMatch(/^HTTP\/1\.1 400 /);
});

test("a malformed request after an answered one is answered", async () => {
  const answers = await answersTo((_request, response) => response.end("whole"), get, malformed);
  expect(answers).toMatch(/^HTTP\/1\.1 200 [\s\S]*wholeHTTP\/1\.1 400 /);
});

test("a malformed request does not write into a response that has begun", async () => {
  const answers = await answersTo((_request, response) => void response.write("begun"), get, malformed);
  expect(answers).not.toContain("400");
});

test("a malformed request does not answer a previous request", async () => {
  expect(await answersTo(() => undefined, get, malformed)).toBe("");
  let requests = 0;
  const second: RequestListener = (_request, response) => {
    requests += 1;
    if (requests === 2) response.end("second");
  };
  expect(await answersTo(second, get, get, malformed)).toBe("");
});
