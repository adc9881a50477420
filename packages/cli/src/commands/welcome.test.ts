import { readConfig } from "@gatehouse/server/config";
import { describe, expect, test } from "vitest";
import { madeKeyLines, madeKeyObject } from "./welcome.ts";

const operatorKey = "the operator's key";
const firstApiKey = "the first tenant's key";
const operatorKeyHash = Buffer.alloc(32);

function configWith(environment: Record<string, string>) {
  return readConfig({ flags: {}, environment });
}

describe("the keys made at a start", () => {
  test("are told to people and to programs", () => {
    const installation = { operatorKey, firstApiKey, operatorKeyHash };
    const text = madeKeyLines(installation, configWith({})).join("\n");
    expect(text).toContain(operatorKey);
    expect(text).toContain(firstApiKey);
    expect(madeKeyObject(installation, configWith({}))).toEqual({ operatorKey, apiKey: firstApiKey });
  });

  test("leave out the one that configuration sets", () => {
    const installation = { operatorKey: undefined, firstApiKey, operatorKeyHash };
    const config = configWith({ GATEHOUSE_BOOTSTRAP_API_KEY: "k".repeat(40) });
    expect(madeKeyLines(installation, config)).toEqual([]);
    expect(madeKeyObject(installation, config)).toBeUndefined();
  });
});
