import { expectTypeOf, test } from "vitest";
import type { PathWith } from "./calls.ts";

// The type check evaluates this test.
test("calls exist for operations that return JSON or nothing, not for text streams", () => {
  expectTypeOf<Extract<PathWith<"get">, `/tenants/events${string}`>>().toEqualTypeOf<
    "/tenants/events" | "/tenants/events/signing-key" | "/tenants/events/{id}/effect"
  >();
  expectTypeOf<Extract<PathWith<"delete">, "/tenants/users/{id}">>().toEqualTypeOf<"/tenants/users/{id}">();
});
