/** The command line against a fake server that asks for a more recent authentication. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runHere } from "../testing/run-here.ts";

let folder: string;
let server: Server;
let url: string;
let authorizations: (string | undefined)[];

beforeEach(async () => {
  authorizations = [];
  server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    const problem = {
      type: "/errors/recent_authentication_required",
      title: "The operation requires a recent authentication",
      status: 401,
      detail: "A person must have authenticated within the last 15 minutes.",
      instance: "/tenants/api-keys",
      code: "recent_authentication_required",
      requestId: "r-1",
    };
    response.writeHead(401, {
      "content-type": "application/problem+json",
      "www-authenticate": 'Bearer realm="gatehouse", error="insufficient_user_authentication"',
    });
    response.end(JSON.stringify(problem));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has one
  folder = await mkdtemp(join(tmpdir(), "gatehouse-step-up-"));
  vi.stubEnv("XDG_CONFIG_HOME", folder);
  await mkdir(join(folder, "gatehouse"), { mode: 0o700 });
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const context = {
    url,
    user: { id: "01980000-0000-7000-8000-000000000001", email: "ann@example.com" },
    tenant: { id: "01980000-0000-7000-8000-000000000002", name: "Example Ltd" },
    accessToken: "gatehouse_access_test",
    accessExpiresAt: later,
    refreshToken: "gatehouse_refresh_test",
    sessionExpiresAt: later,
  };
  const credentials = { version: 1, current: "here", contexts: { here: context } };
  await writeFile(join(folder, "gatehouse", "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

test("a script learns which command authenticates again, and tokens are not shown", async () => {
  const { code, errors } = await runHere(["key", "create", "Inventory", "--permission", "resources:read"]);
  expect(code).toBe(1);
  expect(errors).toContain(`Run gatehouse login --url ${url} --fresh, and repeat this command.`);
  expect(authorizations).toEqual(["Bearer gatehouse_access_test"]);
  expect(errors).not.toContain("gatehouse_access_");
});

test("the token is not sent to another server", async () => {
  const { code, errors } = await runHere(["key", "list", "--url", `${url.replace("127.0.0.1", "localhost")}`]);
  expect({ code, errors }).toMatchObject({ code: 2, errors: expect.stringContaining("The key is missing.") });
  expect(authorizations).toEqual([]);
});
