import { targetTypes } from "@gatehouse/contract/event-types";
import { operations } from "@gatehouse/contract/operations/all";
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { expectDeletions, followChanges, gatherUpdates, pathOfTarget } from "./live-updates.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Targets without their own list. */
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
  const paths: readonly string[] = operations.map(({ path }) => path);
  const missing = targetTypes.filter((type) => !unlisted.includes(type) && !paths.includes(pathOfTarget(type)));
  expect(missing).toEqual([]);
});

test("the page of a record that is being deleted is not refetched, unless the deletion fails", async () => {
  const queryClient = new QueryClient();
  const record = ["/tenants/groups/{id}", "1"];
  const below = ["/tenants/groups/{id}/members", "1"];
  const other = ["/tenants/groups/{id}", "2"];
  for (const key of [record, below, other]) queryClient.setQueryData(key, {});
  const invalidated = () =>
    [record, below, other].filter((key) => queryClient.getQueryState(key)?.isInvalidated === true);
  const update = gatherUpdates(queryClient);
  const event = { data: JSON.stringify({ target: { type: "group" } }) };
  const failed = await expectDeletions(queryClient, ["/tenants/groups/1"]);
  update.add(event);
  vi.runAllTimers();
  expect(invalidated()).toEqual([other]);
  failed();
  update.add(event);
  vi.runAllTimers();
  expect(invalidated()).toEqual([record, below, other]);
});

test("a query follows the changes of the records that it names", () => {
  const queryClient = new QueryClient();
  queryClient.setQueryData(["/tenants/access"], {});
  const [query] = queryClient.getQueryCache().getAll();
  query?.setOptions({ queryKey: ["/tenants/access"], meta: followChanges("/tenants/policies") });
  const isInvalidated = () => queryClient.getQueryState(["/tenants/access"])?.isInvalidated;
  const update = gatherUpdates(queryClient);
  update.add({ data: JSON.stringify({ target: { type: "webhook" } }) });
  vi.runAllTimers();
  expect(isInvalidated()).toBe(false);
  update.add({ data: JSON.stringify({ target: { type: "policy" } }) });
  vi.runAllTimers();
  expect(isInvalidated()).toBe(true);
});
