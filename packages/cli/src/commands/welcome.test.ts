import { readConfig } from "@gatehouse/server/config";
import { describe, expect, test } from "vitest";
import { createdKeyLines, createdKeyObject } from "./welcome.ts";

const operatorKey = "the operator's key";
const firstApiKey = "the first tenant's key";
const operatorKeyHash = Buffer.alloc(32);

function configWith(environment: Record<string, string>) {
  return readConfig({ flags: {}, environment });
}

describe("the keys created at a start", () => {
  test("are shown to people and to programs", () => {
    const installation = { operatorKey, firstApiKey, operatorKeyHash };
    const text = createdKeyLines(installation, configWith({})).join("\n");
    expect(text).toContain(operatorKey);
    expect(text).toContain(firstApiKey);
    expect(createdKeyObject(installation, configWith({}))).toEqual({ operatorKey, apiKey: firstApiKey });
  });

  test("omit the key that the configuration sets", () => {
    const installation = { operatorKey: undefined, firstApiKey, operatorKeyHash };
    const config = configWith({ GATEHOUSE_BOOTSTRAP_API_KEY: "k".repeat(40) });
    expect(createdKeyLines(installation, config)).toEqual([]);
    expect(createdKeyObject(installation, config)).toBeUndefined();
  });
});
