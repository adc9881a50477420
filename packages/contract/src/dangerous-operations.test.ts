/**
 * Every operation that seems to create or show a credential, or to give an outside address data, is declared dangerous
 * or harmless (docs/decisions/0279-what-outlives-a-session.md).
 */
import { describe, expect, test } from "vitest";
import { isAlwaysDangerous, isWrite, type Operation } from "./operation.ts";
import { operations } from "./operations/all.ts";
import { type Field, fieldsOf, isGatewayToken, responseOf } from "./schema-fields.ts";

const words = (name: string) =>
  name
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[ _]/);
const hasWord = ({ name }: Field, wanted: ReadonlySet<string>) => words(name).some((word) => wanted.has(word));

/** Words in the names of fields that contain credentials. */
const credentials = new Set([
  ...["token", "secret", "key", "password", "passphrase", "credential", "code", "link", "ticket", "proof"],
]);
/** Words in the names of fields that name a receiver of data. */
const receivers = new Set(["url", "uri", "issuer", "endpoint", "resolvers", "host", "email", "notify"]);
/** Names with such a word that are not credentials. */
const others = new Set([
  ...["hasClientSecret", "enrolmentKey", "keyResetUntil", "codeAttemptsLeft", "statusCode", "linkVerifiedEmail"],
  // The position in a list.
  "next_token",
]);

/** A body of any kind, such as that of a request inside the request, can contain everything. */
const isUnknown = ({ schema }: Field) =>
  !["type", "anyOf", "oneOf", "allOf", "const", "enum"].some((keyword) => keyword in schema);

/** Tokens of gateways are shown to people with a recent authentication only, so reading a gateway is not dangerous. */
const isCredential = (field: Field) =>
  isUnknown(field) || (hasWord(field, credentials) && !others.has(field.name) && !isGatewayToken(field));
const isGiven = (field: Field) => isCredential(field) || hasWord(field, receivers);
const isPublic = ({ name }: Field) => words(name).includes("public");

/** The fields because of which the operation must be declared, by their paths. */
function suspects(operation: Operation): readonly string[] {
  if (operation.access === "operator") return [];
  const response = responseOf(operation);
  // A public key in a response gives its readers no access. A public key in a request is given access.
  const shown =
    response === undefined ? [] : fieldsOf(response).filter((field) => isCredential(field) && !isPublic(field));
  const { body } = operation;
  const set = body === undefined || !isWrite(operation) ? [] : fieldsOf(body).filter(isGiven);
  return [...shown.map(({ path }) => `response${path}`), ...set.map(({ path }) => `body${path}`)];
}

/** The declarations as text, for review. */
function declarations(): string {
  const lines = (reason: "dangerous" | "harmless") =>
    operations
      .filter((operation) => operation[reason] !== undefined)
      .map((operation) => {
        const { id, dangerousWith = [], dangerousIf } = operation;
        const fields = dangerousWith.length === 0 ? "" : ` [with ${dangerousWith.join(", ")}]`;
        const condition = dangerousIf === undefined ? "" : ` [if ${dangerousIf}]`;
        return `  ${id.padEnd(28)} ${operation[reason]}${reason === "dangerous" ? fields + condition : ""}`;
      });
  return `${[
    "The operations that require a recent authentication, with the reason. Generated from the declarations of operations;",
    "dangerous-operations.test.ts compares the two. To change one, edit the declaration, run",
    "`npx vitest run packages/contract/src/dangerous-operations.test.ts -u`, and have the diff reviewed.",
    "",
    ...lines("dangerous"),
    "",
    "The operations that require none, although a field of their request or response has the name of a credential, or",
    "of a receiver of data:",
    "",
    ...lines("harmless"),
  ].join("\n")}\n`;
}

test("the declarations match the reviewed dangerous-operations.txt", async () => {
  await expect(declarations()).toMatchFileSnapshot("../dangerous-operations.txt");
});

describe("an operation", () => {
  test.each(operations.map((operation) => [operation.id, operation] as const))("%s is declared", (_, operation) => {
    const { dangerous, dangerousWith = [], dangerousIf, harmless } = operation;
    const found = isAlwaysDangerous(operation)
      ? []
      : suspects(operation).filter(
          (path) => !dangerousWith.some((field) => path === `body/${field}` || path.startsWith(`body/${field}/`)),
        );
    // A field that makes the operation dangerous does not excuse the others.
    if (found.length > 0) expect(harmless, found.join(", ")).toBeTypeOf("string");
    else expect(harmless, "the declaration has no cause").toBeUndefined();
    for (const field of dangerousWith)
      expect(fieldsOf(operation.body ?? {}).map(({ path }) => path)).toContain(`/${field}`);
    expect(dangerousWith.length === 0 || dangerousIf === undefined).toBe(true);
    for (const clause of [dangerous, dangerousIf, harmless])
      expect(clause ?? "it is a clause").toMatch(/^[a-z].*[^.]$/);
  });
});
