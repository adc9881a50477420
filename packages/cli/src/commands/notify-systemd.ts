/**
 * Reports the state of the server to systemd, for units with `Type=notify`. Node.js has no Unix datagram sockets, so
 * the program systemd-notify sends the messages, as for the agents (docs/decisions/0105-watchdog.md).
 */
import { execFile } from "node:child_process";
import type { Log } from "@gatehouse/server/platform/log";

const timeoutMs = 10_000;

export class SystemdNotifier {
  readonly #socket: string;
  readonly #log: Log;
  /** The last message. Messages are sent one after the other, so that an older state never replaces a newer one. */
  #last: Promise<void> = Promise.resolve();

  private constructor(socket: string, log: Log) {
    this.#socket = socket;
    this.#log = log;
  }

  /**
   * @param environment the process environment. systemd sets `NOTIFY_SOCKET` (sd_notify(3))
   * @returns undefined if systemd did not start this process, or expects no messages
   */
  static of(environment: Readonly<Record<string, string | undefined>>, log: Log): SystemdNotifier | undefined {
    const { NOTIFY_SOCKET: socket = "" } = environment;
    return socket === "" ? undefined : new SystemdNotifier(socket, log);
  }

  /**
   * Reports that the start of the unit is complete, and a status for `systemctl status`. A message that fails is
   * logged: the server serves without it too.
   */
  reportReady(status: string): Promise<void> {
    this.#last = this.#last.then(() => this.#send(["READY=1", `STATUS=${status.replaceAll(/\s+/g, " ")}`]));
    return this.#last;
  }

  #send(message: readonly string[]): Promise<void> {
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", NOTIFY_SOCKET: this.#socket };
    return new Promise((resolve) => {
      const child = execFile("systemd-notify", message, { env, timeout: timeoutMs }, (err) => {
        if (err !== null) this.#log.error({ err }, "failed to notify systemd; check that systemd-notify is installed");
        resolve();
      });
      child.stdin?.end();
    });
  }
}
