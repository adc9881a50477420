import { targetTypes } from "@gatehouse/contract/event-types";
import { operations } from "@gatehouse/contract/operations/all";
import { expect, test } from "vitest";
import { pathOfTarget } from "./live-updates.ts";

/** Targets without a list of their own. */
const unlisted = [
  "audit-record",
  "enrolment-link",
  "identity-provider",
  "passkey",
  "recovery-code",
  "signing-key",
  "tenant",
  "webhook-delivery",
];

test("every listed kind of record has the path of its list", () => {
  const paths = operations.map(({ path }) => path);
  const missing = targetTypes.filter(
    (type) => !unlisted.includes(type) && !paths.includes(pathOfTarget(type) as never),
  );
  expect(missing).toEqual([]);
});
