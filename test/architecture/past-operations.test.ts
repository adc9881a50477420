/** Every operation that writes events begins with a verb that has a past form, which the console shows. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { isWrite } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { expect, test } from "vitest";
import { en } from "../../packages/console/src/messages/en/en.ts";
import { formatOperation } from "../../packages/console/src/pages/events/format-operation.ts";
import { root } from "./run-tool.ts";

/** Operations that the server names itself: they are not part of the API, such as signing in. */
const named = /(?:\boperation: |Operation = |\b(?:command|run)\((?:\w+, )*)"([a-z]+[A-Z]\w*)"/g;

function operationsOfServer(): readonly string[] {
  const files = execFileSync("git", ["ls-files", "packages/server/src"], { cwd: root, encoding: "utf8" }).split("\n");
  return files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.includes("/testing/"))
    .flatMap((file) => [...readFileSync(path.join(root, file), "utf8").matchAll(named)].map(([, name = ""]) => name));
}

function verbOf(operation: string): string {
  const [verb = ""] = formatOperation(operation).split(" ");
  return verb.toLowerCase();
}

test("every operation that writes audit events has a past form, and every past form is used", () => {
  const ofServer = operationsOfServer();
  expect(ofServer).toEqual(
    expect.arrayContaining(["setUpInstallation", "signIn", "signInOnDevice", "useRecoveryCode"]),
  );
  expect(ofServer).toEqual(expect.arrayContaining(["pruneEvents", "reportGatewayState", "sealAccessHistory"]));
  const ofApi = operations.filter(isWrite).map(({ id }) => id);
  const verbs = new Set([...ofApi, ...ofServer].map(verbOf));
  expect(Object.keys(en.events.pastVerbs)).toEqual([...verbs].sort());
});
