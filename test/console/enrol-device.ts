/** Devices that are enrolled by a sign-in of their user, as the device agent does. */
import { signInAs } from "@gatehouse/server/testing/signed-in-person";
import type { ConsoleWorld } from "./console-world.ts";

interface EnrolledDevice {
  readonly tenantId: string;
  readonly userId: string;
  readonly machine: string;
  readonly publicKey: string;
}

/** @returns the id of the device */
export async function enrolBySignIn(
  { server }: ConsoleWorld,
  { tenantId, userId, machine, publicKey }: EnrolledDevice,
): Promise<string> {
  const post = async (url: string, form: Readonly<Record<string, string>>) =>
    (
      await server.app.inject({
        method: "POST",
        url,
        headers: { "content-type": "application/x-www-form-urlencoded" },
        payload: new URLSearchParams({ client_id: "gatehouse-device", ...form }).toString(),
      })
    ).json();
  const codes = await post("/oauth/device_authorization", {
    machine,
    os: "Debian GNU/Linux",
    os_version: "13",
    hardware_id: machine,
    public_key: publicKey,
  });
  const browser = server.client(undefined, await signInAs(server, tenantId, userId));
  await browser.must.post("/console/device-authorization", { code: codes.user_code, approve: true });
  const { device } = await post("/oauth/token", {
    grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    device_code: codes.device_code,
  });
  return device.id;
}
