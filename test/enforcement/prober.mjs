// Runs in a network namespace, and does there what a person at that machine would: serves, connects, pings, asks for names.
// Orders come as lines of JSON on standard input; every one is answered by a line with its number. Ends when standard input does.
import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { connect, createServer, isIP } from "node:net";
import { createInterface } from "node:readline";
import packet from "dns-packet";

/** Open connections by number. */
const streams = new Map();

const orders = {
  /** Sends back whatever arrives, over TCP and UDP. */
  async echo({ port, hosts }) {
    for (const host of hosts) {
      const tcp = createServer((socket) => socket.on("error", () => {}).pipe(socket));
      await new Promise((resolve) => tcp.listen({ port, host }, resolve));
      const udp = createSocket(isIP(host) === 6 ? "udp6" : "udp4");
      udp.on("message", (bytes, from) => udp.send(bytes, from.port, from.address));
      await new Promise((resolve) => udp.bind(port, host, resolve));
    }
    return true;
  },
  /** A resolver that knows these names, by type. */
  async serveNames({ host, records }) {
    const udp = createSocket("udp4");
    udp.on("message", (bytes, from) => {
      const { id, questions } = packet.decode(bytes);
      const [{ name, type }] = questions;
      const known = records[name.toLowerCase()];
      const data = known?.[type] ?? [];
      const answers = data.map((address) => ({ type, name, ttl: 60, data: address }));
      udp.send(
        packet.encode({ type: "response", id, flags: known ? 0 : 3, questions, answers }),
        from.port,
        from.address,
      );
    });
    await new Promise((resolve) => udp.bind(53, host, resolve));
    return true;
  },
  async open({ stream, host, port }) {
    const socket = connect({ host, port }).on("error", () => {});
    streams.set(stream, socket);
    return Promise.race([once(socket, "connect").then(() => true), failsAfter(socket)]);
  },
  /** Whether a running connection still brings back what is sent. */
  async say({ stream, text }) {
    const socket = streams.get(stream);
    const answer = echoed(socket, text);
    socket.write(text);
    return answer;
  },
  async close({ stream }) {
    streams.get(stream)?.destroy();
    return true;
  },
  async tcp({ host, port }) {
    const socket = connect({ host, port }).on("error", () => {});
    const answer = echoed(socket, "hello");
    socket.on("connect", () => socket.write("hello"));
    const isAnswered = await answer;
    socket.destroy();
    return isAnswered;
  },
  async udp({ host, port }) {
    const socket = createSocket(isIP(host) === 6 ? "udp6" : "udp4").on("error", () => {});
    const answer = new Promise((resolve) => socket.once("message", () => resolve(true)));
    socket.send("hello", port, host);
    const isAnswered = await Promise.race([answer, after(patienceMs)]);
    socket.close();
    return isAnswered;
  },
  ping({ host }) {
    const args = ["-c", "1", "-W", String(Math.ceil(patienceMs / 1000)), host];
    return new Promise((resolve) => execFile("ping", args, (error) => resolve(error === null)));
  },
  async resolve({ server, name, type }) {
    const resolver = new Resolver({ timeout: 2_000, tries: 1 });
    resolver.setServers([server]);
    try {
      return await resolver.resolve(name, type);
    } catch (error) {
      return error.code;
    }
  },
};

/** How long something that does not come is waited for, in milliseconds. */
let patienceMs = 1_000;

function once(emitter, event) {
  return new Promise((resolve) => emitter.once(event, resolve));
}

function after(ms) {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}

function failsAfter(socket) {
  return Promise.race([after(patienceMs), once(socket, "close").then(() => false)]);
}

function echoed(socket, text) {
  let received = "";
  const arrived = new Promise((resolve) => {
    socket.on("data", (bytes) => {
      received += bytes;
      if (received.includes(text)) resolve(true);
    });
  });
  return Promise.race([arrived, failsAfter(socket)]);
}

process.on("uncaughtException", (error) => process.stderr.write(`${error.stack}\n`));
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const { number, order, within, ...rest } = JSON.parse(line);
  if (within !== undefined) patienceMs = within;
  orders[order](rest).then(
    (answer) => process.stdout.write(`${JSON.stringify({ number, answer })}\n`),
    (error) => process.stdout.write(`${JSON.stringify({ number, error: String(error) })}\n`),
  );
}
process.exit(0);
