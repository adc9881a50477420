import { expect, test } from "vitest";
import { AppError } from "./app-error.ts";

test.each([
  ["/name", "is required", "/name: is required."],
  ["/port", 'must be: A UDP port, "1" to "65535".', '/port: must be: A UDP port, "1" to "65535".'],
  ["", "must be object", "The body: must be object."],
])("an error at %j without a detail describes the field in one sentence", (pointer, message, detail) => {
  expect(new AppError("invalid_body", { errors: [{ pointer, message }] }).detail).toBe(detail);
});
