/** Ports of the server: checks that they are free, and errors that name the setting to change. */
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { createServer } from "node:net";
import { systemErrorCode } from "@gatehouse/embedded-postgres";
import { flagOf, type SettingName, variableOf } from "./config.ts";
import { StartError } from "./platform/start-error.ts";

/** @throws StartError if the server could not listen on the port now */
export async function requireFreePort(attempt: ListenAttempt): Promise<void> {
  const { host, port } = attempt;
  const probe = createServer((socket) => socket.destroy());
  try {
    probe.listen({ host, port });
    await once(probe, "listening");
  } catch (error) {
    throw listenError(error, attempt);
  }
  const end = once(probe, "close");
  probe.close();
  await end;
}

export async function closed(server: HttpServer): Promise<void> {
  const end = once(server, "close");
  server.close();
  server.closeAllConnections();
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
