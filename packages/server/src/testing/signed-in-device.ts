import { expect } from "vitest";
import { personClient, signInAs } from "./signed-in-person.ts";
import type { TestServer, TestTenant } from "./test-server.ts";

export interface SignInOnDevice {
  readonly server: TestServer;
  readonly tenant: TestTenant;
  readonly userId: string;
  readonly deviceId: string;
  /** When the user authenticated. */
  readonly authTime: Date;
  /** The id of the identity provider through which the user signed in; a passkey by default. */
  readonly providerId?: string;
}

/** Signs a user in on one of the user's devices, as `gatehouse device sign-in` and the browser do. */
export async function signInOnDevice({ server, tenant, userId, deviceId, ...signIn }: SignInOnDevice): Promise<void> {
  const { token } = (await tenant.client.must.post(`/tenants/devices/${deviceId}/rotate-token`)).body;
  const asked = await server.app.inject({
    method: "POST",
    url: "/oauth/device_authorization",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: new URLSearchParams({ client_id: "gatehouse-device", device_token: token }).toString(),
  });
  expect(asked.statusCode, asked.body).toBe(200);
  const browser = personClient(server, await signInAs(server, tenant.id, userId, signIn));
  const answer = await browser.post("/console/device-authorization", { code: asked.json().user_code, approve: true });
  expect(answer.status, answer.text).toBe(200);
}
