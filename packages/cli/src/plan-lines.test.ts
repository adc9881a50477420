import type { ConfigurationPlan } from "@gatehouse/contract/records/configuration";
import { expect, test } from "vitest";
import { planLines } from "./plan-lines.ts";

test("an address is shown with its protocols, and with the blocks of its answers", () => {
  const addresses = [
    { address: "git.example.com", protocols: ["SSH", "HTTPS"], answersWithin: ["10.0.0.0/8", "fd00::/8"] },
    { address: "10.0.0.1" },
  ];
  const plan: ConfigurationPlan = {
    generation: 1,
    summary: { created: 0, updated: 1, deleted: 0 },
    changes: [
      {
        action: "update",
        kind: "resource",
        name: "Git",
        fields: [{ field: "addresses", added: addresses, removed: [] }],
      },
    ],
  };
  expect(planLines(plan)).toEqual([
    "~ resource Git",
    "    addresses: + git.example.com (SSH, HTTPS) within 10.0.0.0/8 or fd00::/8, 10.0.0.1",
  ]);
});
