/**
 * Reports to systemd that the server is ready, for units with `Type=notify`. Node.js has no Unix datagram sockets, so
 * the program systemd-notify sends the message, as for the agents (docs/decisions/0105-watchdog.md).
 */
import { execFile } from "node:child_process";
import type { Log } from "@gatehouse/server/platform/log";

const timeoutMs = 10_000;

/**
 * Reports that the server is ready. Does nothing without systemd. A report that fails is logged: the server serves
 * without it too.
 *
 * @param environment the process environment. systemd sets `NOTIFY_SOCKET` (sd_notify(3))
 */
export function notifyReady(environment: Readonly<Record<string, string | undefined>>, log: Log): Promise<void> {
  const { NOTIFY_SOCKET: socket = "" } = environment;
  if (socket === "") return Promise.resolve();
  const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", NOTIFY_SOCKET: socket };
  return new Promise((resolve) => {
    const child = execFile("systemd-notify", ["READY=1"], { env, timeout: timeoutMs }, (err) => {
      if (err !== null) log.error({ err }, "failed to notify systemd; check that systemd-notify is installed");
      resolve();
    });
    child.stdin?.end();
  });
}
