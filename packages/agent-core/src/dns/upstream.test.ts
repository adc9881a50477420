import { expect, test } from "vitest";
import { askUpstream } from "./upstream.ts";

test("a resolver that cannot be reached answers nothing, and harms nothing", async () => {
  // The kernel refuses to send to a broadcast address at once.
  for (const resolver of ["255.255.255.255", "fe80::1"]) {
    expect(await askUpstream({ name: "git.example.com", type: "A" }, [resolver])).toBeUndefined();
  }
});
