import { expect, test } from "vitest";
import { askUpstream } from "./upstream.ts";

test("an unreachable resolver yields no answer", async () => {
  // The kernel refuses immediately to send to a broadcast address.
  for (const resolver of ["255.255.255.255", "fe80::1"]) {
    expect(await askUpstream({ name: "git.example.com", type: "A" }, [resolver])).toBeUndefined();
  }
});
