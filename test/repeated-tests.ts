/** Tests that passed only when CI ran them again (docs/decisions/0177-repeated-tests.md). */
import type { Reporter, TestModule } from "vitest/node";

/**
 * How often a failed test runs again. CI sets the number; elsewhere it is 0. A failed property never runs again: the
 * next run has another random input, and would hide the defect.
 */
export const retry = {
  count: Number(process.env.GATEHOUSE_TEST_RETRIES ?? 0),
  condition: /^(?!Property failed)/,
};

/** Prints the tests that passed only when they ran again, so that their defects are corrected. */
export class RepeatedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => test.diagnostic()?.flaky)
        .map((test) => `Failed, then passed: ${module.relativeModuleId} > ${test.fullName}`),
    );
    for (const line of lines) console.warn(line);
  }
}
