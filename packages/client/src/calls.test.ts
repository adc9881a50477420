import { expectTypeOf, test } from "vitest";
import type { PathWith } from "./calls.ts";

// What is wrong here, the type check finds.
test("calls are offered for what answers with JSON or nothing, not for streams of text", () => {
  expectTypeOf<Extract<PathWith<"get">, `/tenants/events${string}`>>().toEqualTypeOf<
    "/tenants/events" | "/tenants/events/signing-key" | "/tenants/events/{id}/effect"
  >();
  expectTypeOf<Extract<PathWith<"delete">, "/tenants/users/{id}">>().toEqualTypeOf<"/tenants/users/{id}">();
});
