import { publishedTxt } from "@gatehouse/server/testing/published-txt";
import { sharedTestServer, type TestTenant } from "@gatehouse/server/testing/test-server";
import { beforeAll, expect, test } from "vitest";
import { runHere } from "../testing/run-here.ts";

let tenant: TestTenant;
let url: string;

beforeAll(async () => {
  const server = await sharedTestServer();
  tenant = await server.newTenant();
  url = await server.listen();
});

const domain = (...args: string[]) => runHere(["domain", ...args, "--url", url, "--api-key", tenant.key]);

test("domain add prints the record that domain verify looks for", async () => {
  const name = `d${process.pid}-${Date.now()}.example.com`;
  const added = await domain("add", name);
  expect(added.code).toBe(0);
  const [, record = "", value = ""] = /^ {2}(\S+) {2}TXT {2}"(\S+)"$/m.exec(added.output) ?? [];
  const [, id = ""] = /^Id\s+(\S+)$/m.exec(added.output) ?? [];
  const early = await domain("verify", id);
  expect(early.code).toBe(1);
  expect(early.errors).toContain(record);
  publishedTxt.set(record, [value]);
  expect(JSON.parse((await domain("verify", id, "--json")).output)).toMatchObject({ domain: name });
  expect((await domain("list")).output).toContain(name);
  expect((await domain("delete", id)).output).toBe(`Deleted the domain ${id}.\n`);
});
