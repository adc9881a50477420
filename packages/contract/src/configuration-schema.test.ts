import { expect, test } from "vitest";
import { configurationSchema } from "./configuration-schema.ts";

test("docs/configuration.schema.json matches the schema", async () => {
  const text = `${JSON.stringify(configurationSchema, undefined, 2)}\n`;
  await expect(text).toMatchFileSnapshot("../../../docs/configuration.schema.json");
});

test("every field has a description, and the schema contains no keyword that editors reject", () => {
  const undescribed: string[] = [];
  const visit = (schema: unknown, at: string) => {
    if (schema === null || typeof schema !== "object") return;
    for (const [keyword, value] of Object.entries(schema)) {
      expect(keyword, at).not.toMatch(/^(x-|nullable)/);
      if (keyword === "properties") {
        for (const [field, property] of Object.entries(value as Record<string, object>)) {
          if (!("description" in property)) undescribed.push(`${at}/${field}`);
          visit(property, `${at}/${field}`);
        }
      } else if (keyword !== "additionalProperties") visit(value, at);
    }
  };
  visit(configurationSchema, "");
  expect(undescribed).toEqual([]);
});
