// Runs in a network namespace, and does what a person at that machine would do: serves, connects, pings, resolves
// names.
import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { connect, createServer, isIP } from "node:net";
import packet from "dns-packet";
import { takeOrders } from "./take-orders.mjs";

/** Open connections by number. */
const streams = new Map();
/** Started downloads by name. */
const downloads = new Map();
/**
 * A download is a sequence of pieces of this length, in bytes, at this interval, in milliseconds. It is slow enough to
 * be cut in the middle.
 */
const pieceBytes = 64;
const pieceEveryMs = 20;

const orders = {
  /** Echoes all data, over TCP and UDP. */
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
  /**
   * Serves downloads over TCP. The client sends the number of pieces, 0 for no end. The server first sends the client's
   * source address.
   */
  async serveDownloads({ port, hosts }) {
    for (const host of hosts) {
      const server = createServer((socket) => {
        socket.on("error", () => {}).once("data", (line) => sendPieces(socket, Number(line)));
      });
      await new Promise((resolve) => server.listen({ port, host }, resolve));
    }
    return true;
  },
  /** Starts a download. Returns whether it started in time. */
  async download({ stream, host, port, pieces = 0 }) {
    const download = { via: undefined, bytes: 0, isWhole: false };
    downloads.set(stream, download);
    const socket = connect({ host, port }).on("error", () => {});
    streams.set(stream, socket);
    socket.on("connect", () => socket.write(`${pieces}\n`));
    const begun = new Promise((resolve) => {
      let head = "";
      socket.on("data", (bytes) => {
        if (download.via !== undefined) {
          download.bytes += bytes.length;
          download.lastAt = Date.now();
          return;
        }
        head += bytes;
        const end = head.indexOf("\n");
        if (end < 0) return;
        download.via = head.slice(0, end);
        download.bytes = head.length - end - 1;
        resolve(true);
      });
    });
    socket.on("end", () => {
      download.isWhole = download.bytes === pieces * pieceBytes;
    });
    return Promise.race([begun, failsAfter(socket)]);
  },
  /**
   * The progress of a download: the source address that its target sees, the number of bytes received, and the time of
   * the last one.
   */
  async progress({ stream }) {
    return downloads.get(stream);
  },
  /** The source address that a target sees for this machine; null if the target is unreachable. */
  async via({ host, port }) {
    const stream = Symbol(host);
    const isAnswered = await orders.download({ stream, host, port, pieces: 1 });
    streams.get(stream).destroy();
    const { via } = downloads.get(stream);
    streams.delete(stream);
    downloads.delete(stream);
    return isAnswered ? via : null;
  },
  /** Sends an HTTP request and returns the complete response. The status is 0 without a response. */
  async request({ url, method, headers, body }) {
    try {
      const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
      return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
    } catch (error) {
      return { status: 0, headers: {}, text: String(error.cause ?? error) };
    }
  },
  /** Runs a resolver with these names, by type. */
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
  /** Whether a running connection still echoes data. */
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
  /** Sends a packet over UDP from each of several new ports. */
  async sendFromPorts({ host, port, payload, count }) {
    for (let number = 0; number < count; number++) {
      const socket = createSocket(isIP(host) === 6 ? "udp6" : "udp4").on("error", () => {});
      await new Promise((resolve) => socket.send(Buffer.from(payload, "hex"), port, host, resolve));
      socket.close();
    }
    return true;
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

/** The timeout for a response, in milliseconds. */
const patienceMs = 1_000;

function sendPieces(socket, pieces) {
  socket.write(`${socket.remoteAddress}\n`);
  let sent = 0;
  const timer = setInterval(() => {
    socket.write("-".repeat(pieceBytes));
    sent += 1;
    if (sent === pieces) socket.end();
    if (sent === pieces || socket.destroyed) clearInterval(timer);
  }, pieceEveryMs);
  socket.on("close", () => clearInterval(timer));
}

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

await takeOrders(orders);
