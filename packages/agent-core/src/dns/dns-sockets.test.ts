import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { longestQuestionBytes } from "./dns-message.ts";
import { DnsSockets } from "./dns-sockets.ts";

const mostPerSource = 2;
const closings: (() => void)[] = [];

afterEach(() => {
  for (const close of closings.splice(0)) close();
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo; // it listens on TCP
  probe.close();
  await once(probe, "close");
  return port;
}

/** Answers each question with the same bytes. Returns the port. */
async function listening(): Promise<number> {
  const port = await freePort();
  const sockets = new DnsSockets(
    async (question) => question,
    () => undefined,
    mostPerSource,
  );
  await sockets.listen("127.0.0.1", port);
  closings.push(() => sockets.close());
  return port;
}

async function connectionFrom(localAddress: string, port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port, localAddress });
  socket.on("error", () => undefined);
  closings.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** The answer to a question; undefined if the connection is closed instead. */
async function answerOver(socket: Socket): Promise<string | undefined> {
  const closed = once(socket, "close").then(() => undefined);
  const answered = once(socket, "data").then(([bytes]) => (bytes as Buffer).toString("hex"));
  socket.write(Buffer.from([0, 1, 7]));
  return Promise.race([answered, closed]);
}

test("one source address cannot use the TCP connections of the others", async () => {
  const port = await listening();
  const own = [await connectionFrom("127.0.0.2", port), await connectionFrom("127.0.0.2", port)];
  for (const socket of own) expect(await answerOver(socket)).toBe("000107");
  expect(await answerOver(await connectionFrom("127.0.0.2", port))).toBeUndefined();
  expect(await answerOver(await connectionFrom("127.0.0.3", port))).toBe("000107");
});

test("a source address can connect again after it closed a connection", async () => {
  const port = await listening();
  const [first] = [await connectionFrom("127.0.0.2", port), await connectionFrom("127.0.0.2", port)];
  expect(await answerOver(first as Socket)).toBe("000107");
  first?.destroy();
  let answer: string | undefined;
  while (answer === undefined) answer = await answerOver(await connectionFrom("127.0.0.2", port));
  expect(answer).toBe("000107");
});

test("ignores longer questions over UDP", async () => {
  const port = await listening();
  const socket = createSocket("udp4");
  closings.push(() => socket.close());
  const answered = once(socket, "message");
  socket.send(Buffer.alloc(longestQuestionBytes + 1), port, "127.0.0.1");
  socket.send(Buffer.alloc(longestQuestionBytes), port, "127.0.0.1");
  expect((await answered)[0]).toHaveLength(longestQuestionBytes);
});
