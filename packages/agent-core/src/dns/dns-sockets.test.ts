import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { StoppedClock } from "../testing/stopped-clock.ts";
import { longestQuestionBytes } from "./dns-message.ts";
import { type AnswerBytes, DnsSockets } from "./dns-sockets.ts";

const mostPerClient = 2;
const clock = new StoppedClock();
/** 127.0.0.2 and 127.0.1.2 are the addresses of one client. Nobody has 127.0.0.9. */
const clientOf = (from: string) => (from === "127.0.0.9" ? undefined : from.split(".").at(-1));
const closings: (() => void)[] = [];
const log: string[] = [];

afterEach(() => {
  log.length = 0;
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

const echo: AnswerBytes = async (question) => question;

/** Returns the port. By default, each question is answered with the same bytes. */
async function listening(answer = echo): Promise<number> {
  const port = await freePort();
  const sockets = new DnsSockets({
    answer,
    clientOf,
    mostPerClient,
    clock,
    log: (message) => void log.push(message),
  });
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

test("a client at its limit loses its oldest connection, and nobody else loses one", async () => {
  const port = await listening();
  const other = await connectionFrom("127.0.0.3", port);
  expect(await answerOver(other)).toBe("000107");
  const own = [await connectionFrom("127.0.0.2", port), await connectionFrom("127.0.1.2", port)];
  for (const socket of own) expect(await answerOver(socket)).toBe("000107");
  const [oldest, second] = own as [Socket, Socket];
  const ended = once(oldest, "close");
  const third = await connectionFrom("127.0.0.2", port);
  expect(await answerOver(third)).toBe("000107");
  await ended;
  for (const socket of [second, third, other]) expect(await answerOver(socket)).toBe("000107");
});

test("an address that belongs to no client gets no connection", async () => {
  const port = await listening();
  expect(await answerOver(await connectionFrom("127.0.0.9", port))).toBeUndefined();
  expect(await answerOver(await connectionFrom("127.0.0.2", port))).toBe("000107");
});

test("a connection ends if a question takes too long, even if bytes of it arrive", async () => {
  const socket = await connectionFrom("127.0.0.2", await listening());
  expect(await answerOver(socket)).toBe("000107");
  clock.pass(9_000);
  // The time begins again with each answer: the third question is read only after that.
  for (let count = 0; count < 2; count++) expect(await answerOver(socket)).toBe("000107");
  clock.pass(9_000);
  expect(await answerOver(socket)).toBe("000107");
  // The connection can also end with an error, because the server has not read the byte.
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(Buffer.from([0]));
  clock.pass(10_000);
  await closed;
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

/** Receives bytes until there are this many. */
async function received(socket: Socket, count: number): Promise<string> {
  let bytes = Buffer.alloc(0);
  while (bytes.length < count) bytes = Buffer.concat([bytes, (await once(socket, "data"))[0] as Buffer]);
  return bytes.toString("hex");
}

/** A question whose bytes all have one value, with its length. */
function framed(value: number, length: number): Buffer {
  return Buffer.concat([Buffer.from([length >> 8, length & 255]), Buffer.alloc(length, value)]);
}

test("answers each of several questions in one segment, in their order", async () => {
  const socket = await connectionFrom("127.0.0.2", await listening());
  const questions = Buffer.concat([framed(1, 1000), framed(2, 1000), framed(3, 30)]);
  socket.write(questions);
  expect(await received(socket, questions.length)).toBe(questions.toString("hex"));
});

test("answers a question that is cut off after another one", async () => {
  for (const cut of [1, 2, 7]) {
    const socket = await connectionFrom("127.0.0.2", await listening());
    const [first, second] = [framed(1, 20), framed(2, 30)];
    socket.write(Buffer.concat([first, second.subarray(0, cut)]));
    expect(await received(socket, first.length)).toBe(first.toString("hex"));
    socket.write(second.subarray(cut));
    expect(await received(socket, second.length)).toBe(second.toString("hex"));
  }
});

test("answers a client that ends its side of the connection after its questions, and closes it", async () => {
  const [first, second] = [framed(1, 20), framed(2, 30)];
  const both = Buffer.concat([first, second]);
  for (const [questions, rest] of [
    [first, 0],
    [both, 0],
    [both, 1],
    [both, 7],
  ] as const) {
    const port = await listening(async (question) => {
      await finished;
      // The server reads the end of the stream before it has an answer.
      for (let turn = 0; turn < 10; turn++) await setImmediate();
      return question;
    });
    const socket = connect({ host: "127.0.0.1", port, localAddress: "127.0.0.2", allowHalfOpen: true });
    closings.push(() => socket.destroy());
    const [finished, ended] = [once(socket, "finish"), once(socket, "end")];
    socket.end(Buffer.concat([questions, framed(3, 30).subarray(0, rest)]));
    expect(await received(socket, questions.length)).toBe(questions.toString("hex"));
    await ended;
  }
});

test("answers many questions in one write", async () => {
  const socket = await connectionFrom("127.0.0.2", await listening());
  const questions = Buffer.concat(Array.from({ length: 200 }, (_, index) => framed(index, 1000)));
  socket.write(questions);
  expect(await received(socket, questions.length)).toBe(questions.toString("hex"));
});

test("lets other work proceed between the answers to questions in one write", async () => {
  let answers = 0;
  const port = await listening(async (question) => {
    answers += 1;
    return question;
  });
  const socket = await connectionFrom("127.0.0.2", port);
  socket.write(Buffer.concat(Array.from({ length: 100 }, (_, index) => framed(index, 10))));
  let most = 0;
  while (answers < 100) {
    const before = answers;
    await setImmediate();
    most = Math.max(most, answers - before);
  }
  // The order of both in a turn may change.
  expect(most).toBeLessThanOrEqual(2);
});

test("closes a connection that declares no question or a longer one", async () => {
  const port = await listening();
  for (const length of [0, longestQuestionBytes + 1]) {
    const socket = await connectionFrom("127.0.0.2", port);
    const closed = once(socket, "close");
    socket.write(Buffer.from([length >> 8, length & 255]));
    await closed;
  }
});

test("logs a question that cannot be answered, closes its connection, and answers others", async () => {
  const port = await listening(async (question) => {
    if (question.length === 1) throw new Error("the reply cannot be encoded");
    return question;
  });
  expect(await answerOver(await connectionFrom("127.0.0.2", port))).toBeUndefined();
  expect(log).toEqual(["failed to answer a DNS question"]);
  const socket = createSocket("udp4");
  closings.push(() => socket.close());
  const answered = once(socket, "message");
  socket.send(Buffer.alloc(1), port, "127.0.0.1");
  socket.send(Buffer.alloc(2), port, "127.0.0.1");
  expect((await answered)[0]).toHaveLength(2);
  expect(log).toHaveLength(2);
});
