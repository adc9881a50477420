import { expect, test } from "vitest";
import { LastError } from "./last-error.ts";

test("remembers the last failure in words, and passes every entry on", () => {
  const lines: string[] = [];
  let now = 1;
  const errors = new LastError();
  const log = errors.watching(
    (message) => void lines.push(message),
    () => now,
  );
  log("applied a configuration", { generation: 7 });
  expect(errors.last).toBeUndefined();
  log("failed to connect to the control plane", { url: "https://a", err: new Error("connect ECONNREFUSED") });
  expect(errors.last).toEqual({ at: 1, text: "Failed to connect to the control plane: connect ECONNREFUSED." });
  now = 2;
  log("control plane rejected the token", { remedy: "Enrol it again." });
  expect(errors.last).toEqual({ at: 2, text: "Control plane rejected the token. Enrol it again." });
  log("refused a configuration", { reason: "expired", detail: "The configuration has expired." });
  expect(errors.last?.text).toBe("Refused a configuration: The configuration has expired.");
  log("control plane closed the link", { reason: "shutting_down", remedy: undefined });
  expect(errors.last?.text).toContain("expired");
  log("failed", { err: "x".repeat(5_000) });
  expect(errors.last?.text).toHaveLength(1_000);
  expect(lines).toHaveLength(6);
});
