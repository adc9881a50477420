import type { DeviceAnswer, DeviceQuestion } from "@gatehouse/agent-protocol/device/frames";
import { type AskingDevice, explainToDevice } from "../../features/my/my.api.ts";
import { AppError } from "../../platform/app-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { CommandRunner } from "../../platform/command.ts";
import type { Log } from "../../platform/log.ts";
import type { DeviceConnection } from "./device-connection.ts";

/** The shortest interval between two questions of a connection, in milliseconds. */
const intervalMs = 1_000;

const busy = "Too many questions. Try again in a moment.";
const failed = "The control plane could not answer. Try again later.";

export interface DeviceQuestionsParts {
  readonly runner: Pick<CommandRunner, "models" | "database" | "evaluator">;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Answers questions of devices about their own access: one at a time and one per second for each connection, within the
 * evaluation budget of the device's user.
 */
export class DeviceQuestions {
  readonly #parts: DeviceQuestionsParts;
  /** When each connection asked last, by `clock.elapsedMs()`. */
  readonly #askedAt = new WeakMap<DeviceConnection, number>();
  readonly #answering = new WeakSet<DeviceConnection>();

  constructor(parts: DeviceQuestionsParts) {
    this.#parts = parts;
  }

  /** Never rejects. */
  async answer(connection: DeviceConnection, asking: AskingDevice, { number, to }: DeviceQuestion): Promise<void> {
    const { clock } = this.#parts;
    const askedAt = clock.elapsedMs();
    const since = askedAt - (this.#askedAt.get(connection) ?? Number.NEGATIVE_INFINITY);
    if (this.#answering.has(connection) || since < intervalMs) {
      connection.sendIfRead(failure(number, busy));
      return;
    }
    this.#askedAt.set(connection, askedAt);
    this.#answering.add(connection);
    try {
      const access = await explainToDevice(this.#parts.runner, asking, to, clock.now().getTime());
      connection.sendIfRead({ type: "answer", number, ...access } satisfies DeviceAnswer);
    } catch (err) {
      const { tenantId, deviceId } = asking;
      if (!(err instanceof AppError)) this.#parts.log.error({ err, tenantId, deviceId }, "failed to answer a device");
      const isBusy = err instanceof AppError && err.code === "evaluation_rate_exceeded";
      connection.sendIfRead(failure(number, isBusy ? busy : failed));
    } finally {
      this.#answering.delete(connection);
    }
  }
}

function failure(number: number, text: string): DeviceAnswer {
  return { type: "answer", number, outcome: "failed", reasons: [{ kind: "failed", text }] };
}
