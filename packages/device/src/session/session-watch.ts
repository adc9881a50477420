/** Warns before the session of the device ends, in the log and on the desktop. */
import type { Clock } from "@gatehouse/agent-core/clock";
import type { Log } from "@gatehouse/agent-core/log";
import type { DeviceConfiguration } from "@gatehouse/contract/records/device-configuration";
import { warningMs } from "./session-end.ts";

/** Timers can be late after the machine slept, or when the clock was set. */
const longestWaitMs = 30_000;

export interface SessionNotice {
  readonly title: string;
  readonly text: string;
}

export interface SessionWatchParts {
  /** Shows a notice to the person at the machine. Never rejects. */
  readonly notify: (notice: SessionNotice) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

export const signInRemedy = "Sign in again: sudo gatehouse-device sign-in";

export class SessionWatch {
  readonly #parts: SessionWatchParts;
  #endsAt: number | undefined;
  /** The end that people were warned of, and the end that was announced. */
  #warnedOf: number | undefined;
  #announced: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(parts: SessionWatchParts) {
    this.#parts = parts;
  }

  /** Follows the configuration in use; undefined: none is. */
  follow(configuration: Pick<DeviceConfiguration, "sessionEndsAt"> | undefined): void {
    this.#endsAt = configuration?.sessionEndsAt;
    this.#check();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#endsAt = undefined;
  }

  #check(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const endsAt = this.#endsAt;
    if (endsAt === undefined) return;
    const left = endsAt - this.#parts.clock.now();
    if (left <= 0) {
      this.#announceEnd(endsAt);
      return;
    }
    if (left <= warningMs) this.#warn(endsAt, left);
    const next = left > warningMs ? left - warningMs : left;
    this.#cancel = this.#parts.clock.after(Math.min(next, longestWaitMs), () => this.#check());
  }

  #warn(endsAt: number, left: number): void {
    if (this.#warnedOf === endsAt) return;
    this.#warnedOf = endsAt;
    const minutes = Math.max(1, Math.round(left / 60_000));
    this.#parts.log("session of this device ends soon", {
      endsAt: new Date(endsAt).toISOString(),
      minutes,
      remedy: signInRemedy,
    });
    void this.#parts.notify({
      title: `Gatehouse: sign in again within ${minutes} ${minutes === 1 ? "minute" : "minutes"}`,
      text: `The session of this device is about to end. ${signInRemedy}`,
    });
  }

  #announceEnd(endsAt: number): void {
    if (this.#announced === endsAt) return;
    this.#announced = endsAt;
    this.#parts.log("session of this device has ended", {
      endsAt: new Date(endsAt).toISOString(),
      remedy: signInRemedy,
    });
  }
}
