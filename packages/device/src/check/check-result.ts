/** The result of `gatehouse device check`. */

/** The steps from the person to the target, in the order in which each needs the previous ones. */
export const checkSteps = ["sign-in", "decision", "route", "handshake", "gateway", "dns", "target"] as const;
export type CheckStep = (typeof checkSteps)[number];

export interface StepResult {
  readonly step: CheckStep;
  /** The state `skipped` means that an earlier step is broken, or that the step does not apply. */
  readonly state: "ok" | "broken" | "unknown" | "skipped";
  readonly text: string;
  /** The advice for a broken step. */
  readonly remedy?: string;
}

export interface AccessCheck {
  /** The text that the person asked for. */
  readonly to: string;
  /** The name of the resource, if the control plane said which one it is. */
  readonly resource?: string;
  /** The first broken step; absent: none is. */
  readonly broken?: CheckStep;
  readonly steps: readonly StepResult[];
}
