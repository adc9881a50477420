// Intercepts the link between an agent and the control plane, and attacks it: forwards, alters and injects frames.
import { createServer } from "node:http";
import { WebSocket, WebSocketServer } from "ws";
import { takeOrders } from "./take-orders.mjs";

/** Messages of the control plane, unchanged. */
const passed = [];
/** The agent's responses to injected frames, which are not forwarded. */
const answers = [];
/** Hashes of configurations that were injected here. */
const own = new Set();
/** Changes the next forwarded configuration: a text in it, and its replacement. */
let alteration;
/** Replaces the control plane's signing key. */
let otherKey;
let agent;

function fromServer(text) {
  const frame = JSON.parse(text);
  if (frame.type === "welcome" && otherKey !== undefined) return JSON.stringify({ ...frame, signingKey: otherKey });
  if (frame.type !== "whole" && frame.type !== "difference") return text;
  passed.push(text);
  if (alteration === undefined || !text.includes(alteration.text)) return text;
  const altered = text.replaceAll(alteration.text, alteration.by);
  alteration = undefined;
  return altered;
}

function fromAgent(text, server) {
  const { type, configuration, reason } = JSON.parse(text);
  if (type === "failed" || type === "applied") {
    answers.push(reason ?? type);
    if (own.has(configuration.hash)) return;
  }
  server.send(text);
}

await takeOrders({
  async listen({ host, port, server }) {
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: ([first]) => first });
    const http = createServer().on("upgrade", (request, socket, head) => {
      const protocols = request.headers["sec-websocket-protocol"].split(/, */);
      const { authorization } = request.headers;
      const upstream = new WebSocket(new URL(request.url, server), protocols, { headers: { authorization } });
      upstream.on("error", () => socket.destroy());
      upstream.on("open", () => {
        sockets.handleUpgrade(request, socket, head, (downstream) => {
          agent = downstream;
          upstream.on("message", (bytes) => downstream.send(fromServer(String(bytes))));
          downstream.on("message", (bytes) => fromAgent(String(bytes), upstream));
          upstream.on("close", () => downstream.terminate());
          downstream.on("close", () => upstream.terminate());
        });
      });
    });
    await new Promise((resolve) => http.listen({ host, port }, resolve));
    return true;
  },
  passed: () => passed,
  answers: () => answers,
  alter({ text, by }) {
    alteration = { text, by };
    return true;
  },
  offerKey({ key }) {
    otherKey = key;
    return true;
  },
  /** Cuts the link. The agent reconnects. */
  cut() {
    agent.terminate();
    return true;
  },
  /** @returns the agent's final response */
  async send({ text, hash }) {
    own.add(hash);
    const before = answers.length;
    agent.send(text);
    while (answers.length === before) await new Promise((resolve) => setTimeout(resolve, 5));
    return answers.at(-1);
  },
});
