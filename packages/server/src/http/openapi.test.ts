import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { operations } from "@gatehouse/contract/operations/all";
import { closedObject, component, nullable } from "@gatehouse/contract/schema";
import Type from "typebox";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedTestServer, type TestServer } from "../testing/test-server.ts";
import { openApiDocument } from "./openapi.ts";

const require = createRequire(import.meta.url);

let server: TestServer;
let folder: string;
/** Any JSON object of the document. */
type Node = { readonly [name: string]: unknown };
let document: Node;

beforeAll(async () => {
  server = await sharedTestServer();
  folder = await mkdtemp(path.join(tmpdir(), "gatehouse-openapi-"));
  document = (await server.client(undefined).get("/openapi.json")).body;
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Every object in the document, with its place as a JSON Pointer. */
function nodesOf(value: unknown, place = ""): readonly (readonly [place: string, node: Node])[] {
  if (value === null || typeof value !== "object") return [];
  const below = Object.entries(value).flatMap(([name, item]) =>
    nodesOf(item, `${place}/${name.replaceAll("/", "~1")}`),
  );
  return Array.isArray(value) ? below : [[place, value as Node], ...below]; // an object, not an array
}

describe("the OpenAPI document", () => {
  test("is version 3.0.3 of OpenAPI and 1.0 of the API", () => {
    expect(document).toMatchObject({ openapi: "3.0.3", info: { version: "1.0" } });
  });

  test("is the same text at every start, regardless of the order of the routes", async () => {
    const { text } = await server.client(undefined).get("/openapi.json");
    expect(text).toBe(JSON.stringify(openApiDocument(operations)));
  });

  test("has exactly the operations of the contract", () => {
    const described = Object.entries(document.paths as Record<string, Node>).flatMap(([at, methods]) =>
      Object.entries(methods).map(([method, node]) => `${(node as Node).operationId}: ${method} ${at}`),
    );
    const declared = operations.map(({ id, method, path: at }) => `${id}: ${method.toLowerCase()} ${at}`);
    expect(described.sort()).toEqual(declared.sort());
  });

  test("uses only the JSON Schema subset of OpenAPI 3.0", () => {
    const foreign = ["const", "$id", "$defs", "propertyNames", "patternProperties", "if", "prefixItems", "examples"];
    for (const [place, node] of nodesOf(document)) {
      // The names of properties are not keywords.
      if (place.endsWith("/properties")) continue;
      expect(
        Object.keys(node).filter((name) => foreign.includes(name)),
        place,
      ).toEqual([]);
      if ("type" in node && !place.includes("/properties/type")) expect(typeof node.type, place).toBe("string");
      if ("$ref" in node) expect(Object.keys(node), `${place}: what stands beside $ref is ignored`).toEqual(["$ref"]);
      if (node.nullable === true) {
        expect(node.type, `${place}: nullable needs a type`).toBeTypeOf("string");
        if (Array.isArray(node.enum)) expect(node.enum, `${place}: null has to be one of the values`).toContain(null);
      }
    }
  });

  test("has defaults in requests only for fields that use them when omitted", () => {
    const bodies = nodesOf(document).filter(([place]) => /\/(put|patch)\/requestBody\//.test(place));
    expect(bodies.filter(([, node]) => "default" in node).map(([place]) => place)).toEqual([]);
  });

  test("rejects a nullable component, which OpenAPI 3.0 cannot express", () => {
    const [first] = operations;
    const body = closedObject({ part: nullable(component("Part", "A part.", { name: Type.String() })) });
    expect(() => openApiDocument([{ ...first, body } as (typeof operations)[0]])).toThrow(/Part cannot be nullable/);
  });
});

describe("the linter", () => {
  test("finds no problem in the document", async () => {
    expect(await lint(document)).toEqual([]);
  });

  test("finds a problem in an invalid document", async () => {
    const [at, methods] = Object.entries(document.paths as Record<string, Node>)[0] ?? ["", {}];
    const [method, operation] = Object.entries(methods)[0] ?? ["", {}];
    const { operationId: _, ...nameless } = operation as Node;
    const paths = { [at]: { [method]: { ...nameless, responses: { 200: { description: "Fine.", schema: {} } } } } };
    const problems = await lint({ ...document, paths });
    expect(problems).toEqual(expect.arrayContaining(["operation-operationId", "operation-4xx-response", "struct"]));
  });
});

/** @returns the ids of the rules that the document violates, one for each violation */
async function lint(openApi: object): Promise<readonly string[]> {
  const file = path.join(folder, "openapi.json");
  await writeFile(file, JSON.stringify(openApi));
  const redocly = path.join(path.dirname(require.resolve("@redocly/cli/package.json")), "bin/cli.js");
  const config = fileURLToPath(new URL("../../redocly.yaml", import.meta.url));
  const output = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [redocly, "lint", file, "--config", config, "--format", "json"],
      // Disables the search for updates and telemetry.
      {
        cwd: folder,
        env: { PATH: process.env.PATH, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
      },
      (_error, stdout) => resolve(stdout),
    );
  });
  const { problems } = JSON.parse(output) as { readonly problems: readonly { readonly ruleId: string }[] }; // --format json
  return problems.map(({ ruleId }) => ruleId);
}
