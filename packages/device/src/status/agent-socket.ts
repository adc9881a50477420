/**
 * The socket in the state folder at which the agent answers `gatehouse device status` and `check`: HTTP, GET
 * requests only. Only root can open the socket.
 */
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { Log } from "@gatehouse/agent-core/log";
import type { AccessCheck } from "../check/check-result.ts";
import type { DeviceStatus } from "./device-status.ts";

/** The kernel's limit for the path of a socket, in bytes. */
export const longestSocketPath = 107;
const mostConnections = 8;
/** Checks at a time. Each one sends packets. */
const mostChecks = 2;
const requestTimeoutMs = 5_000;
const longestTarget = 255;

export const agentSocketName = "agent.sock";

export interface AgentQuestions {
  readonly status: () => Promise<DeviceStatus>;
  /** @param port the TCP port to connect to; undefined: one that the resource offers */
  readonly check: (to: string, port: number | undefined) => Promise<AccessCheck>;
}

/**
 * Serves the socket. If the socket cannot be created, the agent continues without it.
 *
 * @param folder the state folder, which this process has locked
 * @returns closes the socket
 */
export async function serveAgentSocket(folder: string, questions: AgentQuestions, log: Log): Promise<() => void> {
  const path = join(folder, agentSocketName);
  const server = createAgentServer(questions, log);
  try {
    if (Buffer.byteLength(path) > longestSocketPath) throw new Error("the path of the state folder is too long");
    await rm(path, { force: true });
    await listen(server, path);
    await chmod(path, 0o600);
  } catch (err) {
    log("failed to create the status socket; continuing without it", { err });
    server.close();
    return () => {};
  }
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

/** Requests over a socket name no host. */
const base = "http://agent";

function createAgentServer(questions: AgentQuestions, log: Log): Server {
  let checks = 0;
  const server = createServer({ requestTimeout: requestTimeoutMs, maxHeaderSize: 4_096 }, (request, response) => {
    request.resume();
    const at = request.url ?? "/";
    if (!URL.canParse(at, base)) {
      answer(response, 400, { title: "The path is not valid." });
      return;
    }
    const { pathname, searchParams } = new URL(at, base);
    const failed = (err: unknown) => {
      log("failed to answer a status question", { err });
      answer(response, 500, { title: "The agent could not answer." });
    };
    if (request.method !== "GET") answer(response, 405, { title: "The agent accepts only GET requests." });
    else if (pathname === "/status") {
      questions.status().then((status) => answer(response, 200, status), failed);
    } else if (pathname === "/check") {
      const to = searchParams.get("to") ?? "";
      const port = searchParams.has("port") ? Number(searchParams.get("port")) : undefined;
      const isPort = port === undefined || (Number.isInteger(port) && port >= 1 && port <= 65_535);
      if (to === "" || to.length > longestTarget || !isPort) {
        answer(response, 400, { title: "The target or its port is not valid." });
      } else if (checks >= mostChecks) {
        answer(response, 429, { title: "The agent is busy with other checks. Try again in a moment." });
      } else {
        checks += 1;
        questions
          .check(to, port)
          .then((check) => answer(response, 200, check), failed)
          .finally(() => {
            checks -= 1;
          });
      }
    } else answer(response, 404, { title: "The agent has no such path." });
  });
  server.on("error", (err) => log("the status socket failed", { err }));
  server.maxConnections = mostConnections;
  return server.unref();
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(JSON.stringify(body));
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
