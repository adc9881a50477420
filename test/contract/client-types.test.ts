import { fileURLToPath } from "node:url";
import { filterOperators } from "@gatehouse/contract/list";
import { operations } from "@gatehouse/contract/operations/all";
import { openApiDocument } from "@gatehouse/server/http/openapi";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";
import { expect, test } from "vitest";

const file = fileURLToPath(new URL("../../packages/client/src/generated/api.ts", import.meta.url));

test("the client's types are those of the contract; where they are not, npm run generate writes them anew", async () => {
  const types = await openapiTS(documentOfSuccess(), {
    // What a request may leave out stays optional, whatever it means when absent.
    defaultNonNullable: false,
    // Callers may hand over lists that they do not let anyone change.
    immutable: true,
  });
  await expect(COMMENT_HEADER + astToString(types) + lists()).toMatchFileSnapshot(file);
});

/** What the client knows of lists, beyond what OpenAPI can say. */
function lists(): string {
  const lists = operations.flatMap(({ path, success }) => (success.kind === "page" ? [{ path, ...success }] : []));
  const lines = (some: typeof lists) => some.map(({ path }) => `  "${path}",\n`).join("");
  const counted = lists.filter(({ list }) => !(list.sort as readonly string[]).includes("id"));
  return `
/** Lists that are read page by page. */
export const pagedPaths: readonly string[] = [
${lines(lists)}];

/** Those of them whose items have no ids. */
export const countedPaths: readonly string[] = [
${lines(counted)}];

/** \`filter[field][operator]\` compares by one of these; which ones fit a field, its description says. */
export type FilterOperator = ${filterOperators.map((operator) => `"${operator}"`).join(" | ")};
`;
}

/** The OpenAPI document without the answers that are errors: all have one form, and would be two thirds of the types. */
function documentOfSuccess(): Parameters<typeof openapiTS>[0] {
  const isSuccess = ([status]: readonly [string, unknown]) => Number(status) < 400;
  const text = JSON.stringify(openApiDocument(operations), (name, value) =>
    name === "responses" ? Object.fromEntries(Object.entries(value).filter(isSuccess)) : value,
  );
  return JSON.parse(text);
}
