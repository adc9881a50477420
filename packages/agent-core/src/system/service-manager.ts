/**
 * Messages to systemd: that the agent is ready, and that it is alive. Node.js has no Unix datagram sockets, so each
 * message is sent by the program systemd-notify. Without systemd, nothing is sent.
 */
import { execFile } from "node:child_process";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** The shortest interval between two messages, in milliseconds. Each one starts a process. */
const shortestIntervalMs = 5_000;
const timeoutMs = 10_000;

export interface ServiceManagerOptions {
  /** The process environment. systemd sets `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` (sd_notify(3)). */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  readonly log: Log;
}

export class ServiceManager {
  readonly #options: ServiceManagerOptions;
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: ServiceManagerOptions) {
    this.#options = options;
  }

  /**
   * Reports that the agent is ready, and from then on that it is alive. systemd restarts the service after a period
   * without such a report.
   *
   * @param isAlive resolves once the agent has performed an operation; systemd hears nothing until then
   */
  async ready(isAlive: () => Promise<void>): Promise<void> {
    await this.#send("READY=1");
    const intervalMs = this.#watchdogIntervalMs();
    if (intervalMs !== undefined) this.#feedAfter(intervalMs, isAlive);
  }

  /** Reports that the agent is stopping, and ends the reports. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel?.();
    await this.#send("STOPPING=1");
  }

  #feedAfter(intervalMs: number, isAlive: () => Promise<void>): void {
    this.#cancel = this.#options.clock.after(intervalMs, () => {
      isAlive()
        .then(async () => {
          if (!this.#isStopped) await this.#send("WATCHDOG=1");
        })
        .catch((err: unknown) => this.#options.log("agent is not healthy; systemd was not notified", { err }))
        .finally(() => {
          if (!this.#isStopped) this.#feedAfter(intervalMs, isAlive);
        });
    });
  }

  /** @returns a third of the watchdog's period; undefined if systemd expects no reports from this process */
  #watchdogIntervalMs(): number | undefined {
    const { environment, pid } = this.#options;
    const periodMs = Number(environment.WATCHDOG_USEC) / 1_000;
    if (!(periodMs > 0) || !this.#hasSocket) return undefined;
    if (environment.WATCHDOG_PID !== undefined && environment.WATCHDOG_PID !== String(pid)) return undefined;
    return Math.max(shortestIntervalMs, periodMs / 3);
  }

  get #hasSocket(): boolean {
    return (this.#options.environment.NOTIFY_SOCKET ?? "") !== "";
  }

  /** A message that cannot be sent is logged. The agent goes on: it must enforce without systemd too. */
  #send(state: string): Promise<void> {
    const { environment, log } = this.#options;
    const { NOTIFY_SOCKET: socket = "" } = environment;
    if (!this.#hasSocket) return Promise.resolve();
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", NOTIFY_SOCKET: socket };
    return new Promise((resolve) => {
      const child = execFile("systemd-notify", [state], { env, timeout: timeoutMs }, (err) => {
        if (err !== null) log("failed to notify systemd; check that systemd-notify is installed", { state, err });
        resolve();
      });
      child.stdin?.end();
    });
  }
}
