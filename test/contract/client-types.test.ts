import { fileURLToPath } from "node:url";
import { filterOperators } from "@gatehouse/contract/list";
import { operations } from "@gatehouse/contract/operations/all";
import { openApiDocument } from "@gatehouse/server/http/openapi";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";
import { expect, test } from "vitest";

const file = fileURLToPath(new URL("../../packages/client/src/generated/api.ts", import.meta.url));

test("the client's types match the contract; `npm run generate` updates them", async () => {
  const types = await openapiTS(documentOfSuccess(), {
    // Optional request fields stay optional, even if they have a default.
    defaultNonNullable: false,
    // Callers can pass read-only lists.
    immutable: true,
  });
  await expect(COMMENT_HEADER + astToString(types) + lists()).toMatchFileSnapshot(file);
});

/** Facts about lists that OpenAPI cannot express. */
function lists(): string {
  const lists = operations.flatMap(({ path, success }) => (success.kind === "page" ? [{ path, ...success }] : []));
  const lines = (some: typeof lists) => some.map(({ path }) => `  "${path}",\n`).join("");
  const counted = lists.filter(({ list }) => !(list.sort as readonly string[]).includes("id"));
  return `
/** Paginated lists. */
export const pagedPaths: readonly string[] = [
${lines(lists)}];

/** Paginated lists whose items have no ids. */
export const countedPaths: readonly string[] = [
${lines(counted)}];

/** Operators of \`filter[field][operator]\`. The description of each parameter lists the supported ones. */
export type FilterOperator = ${filterOperators.map((operator) => `"${operator}"`).join(" | ")};
`;
}

/** The OpenAPI document without error responses, which all have one schema and would be two thirds of the types. */
function documentOfSuccess(): Parameters<typeof openapiTS>[0] {
  const isSuccess = ([status]: readonly [string, unknown]) => Number(status) < 300;
  const text = JSON.stringify(openApiDocument(operations), (name, value) =>
    name === "responses" ? Object.fromEntries(Object.entries(value).filter(isSuccess)) : value,
  );
  return JSON.parse(text);
}
