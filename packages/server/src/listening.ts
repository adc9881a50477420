/** Ports of the server: checks that they are free, and errors that name the setting to change. */
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { createServer, type Server } from "node:net";
import { systemErrorCode } from "@gatehouse/embedded-postgres";
import { flagOf, type SettingName, variableOf } from "./config.ts";
import { StartError } from "./platform/start-error.ts";

/**
 * Listens on all ports at once for a moment, so that two settings with the same port are found too.
 *
 * @throws StartError if the server could not listen on the ports now
 */
export async function requireFreePorts(attempts: readonly ListenAttempt[]): Promise<void> {
  const probes: Server[] = [];
  try {
    for (const attempt of attempts) probes.push(await probe(attempt));
  } finally {
    await Promise.all(probes.map(closed));
  }
}

async function probe(attempt: ListenAttempt): Promise<Server> {
  const { host, port } = attempt;
  const server = createServer((socket) => socket.destroy());
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (error) {
    throw listenError(error, attempt);
  }
  return server;
}

/** Closes a server and its connections. */
export async function closed(server: Server | HttpServer): Promise<void> {
  const end = once(server, "close");
  server.close();
  if ("closeAllConnections" in server) server.closeAllConnections();
  await end;
}

export interface ListenAttempt {
  readonly host: string;
  readonly port: number;
  readonly hostSetting: SettingName;
  readonly portSetting: SettingName;
  /** An alternative port. */
  readonly other: number;
}

export function listenError(error: unknown, attempt: ListenAttempt): unknown {
  const { host, port, hostSetting, portSetting, other } = attempt;
  const code = systemErrorCode(error);
  const place = `port ${port} on ${host}`;
  const otherPort = `choose another port with ${flagOf(portSetting)} ${other} or ${variableOf(portSetting)}`;
  if (code === "EADDRINUSE") {
    return new StartError(
      `Cannot listen on ${place}: the port is in use.`,
      `Stop the program that uses the port, or ${otherPort}.`,
    );
  }
  if (code === "EACCES") {
    return new StartError(
      `Cannot listen on ${place}: permission denied.`,
      `Ports below 1024 need privileges; ${otherPort}.`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    const remedy = `Set ${variableOf(hostSetting)} to an address of this machine, or to 0.0.0.0 or :: for all interfaces.`;
    return new StartError(`Cannot listen on ${host}: this machine does not have that address.`, remedy);
  }
  return error;
}
