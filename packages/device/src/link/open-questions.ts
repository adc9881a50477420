import type { Clock } from "@gatehouse/agent-core/clock";
import type { DeviceAnswer } from "@gatehouse/agent-protocol/device/frames";

/** How long an answer is awaited. */
const timeoutMs = 5_000;

/** The questions to the control plane that have no answer yet. */
export class OpenQuestions {
  readonly #clock: Clock;
  readonly #waiting = new Map<number, (answer: DeviceAnswer | undefined) => void>();
  #number = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * @param send sends the question with this number
   * @returns undefined if no answer comes in time
   */
  ask(send: (number: number) => void): Promise<DeviceAnswer | undefined> {
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve) => {
      const end = (answer: DeviceAnswer | undefined) => {
        this.#waiting.delete(number);
        cancel();
        resolve(answer);
      };
      const cancel = this.#clock.after(timeoutMs, () => end(undefined));
      this.#waiting.set(number, end);
      send(number);
    });
  }

  answered(answer: DeviceAnswer): void {
    this.#waiting.get(answer.number)?.(answer);
  }
}
