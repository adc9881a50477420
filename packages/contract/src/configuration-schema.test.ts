import { expect, test } from "vitest";
import { configurationSchema } from "./configuration-schema.ts";

test("the schema for editors is as docs/ publishes it", async () => {
  const text = `${JSON.stringify(configurationSchema, undefined, 2)}\n`;
  await expect(text).toMatchFileSnapshot("../../../docs/configuration.schema.json");
});

test("every field has a description, and nothing is left that editors do not know", () => {
  const lacking: string[] = [];
  const visit = (schema: unknown, at: string) => {
    if (schema === null || typeof schema !== "object") return;
    for (const [keyword, value] of Object.entries(schema)) {
      expect(keyword, at).not.toMatch(/^(x-|nullable)/);
      if (keyword === "properties") {
        for (const [field, property] of Object.entries(value as Record<string, object>)) {
          if (!("description" in property)) lacking.push(`${at}/${field}`);
          visit(property, `${at}/${field}`);
        }
      } else if (keyword !== "additionalProperties") visit(value, at);
    }
  };
  visit(configurationSchema, "");
  expect(lacking).toEqual([]);
});
