import { targetTypes } from "@gatehouse/contract/event-types";
import { describe, expect, test } from "vitest";
import { isWanted, unknownFilters } from "./event-filters.rules.ts";

const event = { operation: "updateUserProfile", targetType: "user", change: "updated" } as const;

describe("an event", () => {
  test.each([
    [[], true],
    [["user.updated"], true],
    [["user.*"], true],
    [["updateUserProfile"], true],
    [["group.*", "user.updated"], true],
    [["user.created"], false],
    [["group.*"], false],
    [["deleteUser"], false],
    [["user.created", "group.updated", "deleteUser"], false],
  ])("is wanted by %j: %s", (filters, wanted) => {
    expect(isWanted(filters, event)).toBe(wanted);
  });
});

describe("a filter", () => {
  test.each([...targetTypes.map((type) => `${type}.*`), "api-key.deleted", "webhook.updated", "reorderPolicies"])(
    "may be %s",
    (filter) => expect(unknownFilters([filter])).toEqual([]),
  );

  test.each(["*", "user", "users.*", "user.changed", "user.", ".created", "listUsers", "User.created", "user.* ", ""])(
    "cannot be %j",
    (filter) => expect(unknownFilters(["user.*", filter])).toMatchObject([{ pointer: "/events/1" }]),
  );

  test("with a typing error gets a suggestion", () => {
    expect(unknownFilters(["user.create"])[0]?.message).toBe(
      '"user.create" is not an event type; did you mean user.created?',
    );
  });
});
