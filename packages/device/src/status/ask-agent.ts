/** Asks the agent that runs on this machine, over its socket. */
import { request } from "node:http";
import { join } from "node:path";
import type { AccessCheck } from "../check/check-result.ts";
import { agentSocketName, longestSocketPath } from "./agent-socket.ts";
import type { DeviceStatus } from "./device-status.ts";

/** A check waits for packets several times. */
const timeoutMs = 60_000;
const longestAnswer = 1024 * 1024;

/** The agent's answer; `not-running`: no agent uses the state folder; `forbidden`: the socket is for root. */
export type AgentReply<Answer> =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "not-running" | "forbidden" }
  | { readonly kind: "refused"; readonly title: string };

export function askStatus(folder: string): Promise<AgentReply<DeviceStatus>> {
  return ask(folder, "/status");
}

export function askCheck(folder: string, to: string, port: number | undefined): Promise<AgentReply<AccessCheck>> {
  const parameters = new URLSearchParams({ to, ...(port === undefined ? {} : { port: String(port) }) });
  return ask(folder, `/check?${parameters}`);
}

async function ask<Answer>(folder: string, path: string): Promise<AgentReply<Answer>> {
  const socketPath = join(folder, agentSocketName);
  if (Buffer.byteLength(socketPath) > longestSocketPath) return { kind: "not-running" };
  try {
    const { status, body } = await get(socketPath, path);
    // The agent of this folder has the right to everything that its owner has.
    if (status === 200) return { kind: "answer", answer: body as Answer };
    const title: unknown = Reflect.get(Object(body), "title");
    return { kind: "refused", title: typeof title === "string" ? title : `The agent answered ${status}.` };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EACCES" || code === "EPERM") return { kind: "forbidden" };
    if (code === "ENOENT" || code === "ECONNREFUSED") return { kind: "not-running" };
    return { kind: "refused", title: `The agent did not answer: ${error instanceof Error ? error.message : error}.` };
  }
}

function get(socketPath: string, path: string): Promise<{ readonly status: number; readonly body: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, timeout: timeoutMs }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (text.length > longestAnswer) asked.destroy(new Error("its answer is too long"));
      });
      response.on("end", () => {
        try {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) });
        } catch (error) {
          reject(error);
        }
      });
      response.on("error", reject);
    });
    asked.on("timeout", () => asked.destroy(new Error("it took too long")));
    asked.on("error", reject);
    asked.end();
  });
}
