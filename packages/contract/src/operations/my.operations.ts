/** Operations of every signed-in person, without any role. Each operation acts on own records only. */
import Type from "typebox";
import { list } from "../list.ts";
import { canonicalKeyPattern, PublicKey } from "../network-values.ts";
import { operation } from "../operation.ts";
import { Device, KeyChallenge } from "../records/device.ts";
import { DeviceConfiguration } from "../records/device-configuration.ts";
import { MyAccessAnswer, MyResource, Myself } from "../records/my-access.ts";
import { closedObject, Name } from "../schema.ts";

const tag = "Self-service";

export const readMyself = operation({
  id: "readMyself",
  method: "GET",
  path: "/tenants/my",
  tag,
  summary: "Read who is signed in",
  access: "person",
  success: { status: 200, kind: "report", body: Myself },
});

export const listMyDevices = operation({
  id: "listMyDevices",
  method: "GET",
  path: "/tenants/my/devices",
  tag,
  summary: "List own devices",
  access: "person",
  success: { status: 200, kind: "array", item: Device },
});

export const readMyDevice = operation({
  id: "readMyDevice",
  method: "GET",
  path: "/tenants/my/devices/{id}",
  tag,
  summary: "Read a device of the caller",
  access: "person",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Device },
});

const NewPublicKey = Type.Unsafe<string>({
  ...PublicKey,
  pattern: canonicalKeyPattern,
  description:
    "The device's WireGuard public key: 32 bytes in base64, as `wg pubkey` prints them. A key of small order or in another encoding than the canonical one is refused.",
});

export const createMyKeyChallenge = operation({
  id: "createMyKeyChallenge",
  method: "POST",
  path: "/tenants/my/devices/key-challenge",
  tag,
  summary: "Request a challenge for a new WireGuard key",
  description:
    "The answer proves possession of the private key. It is the HMAC-SHA-256 of these lines, joined by a line feed: `gatehouse-key-proof/1`, `app`, `agent-to-server`, `current`, then `tenant`, `user`, `ephemeralKey`, `nonce`, and the public key. The key of the HMAC is HKDF-SHA-256 of the X25519 secret of the private key and `ephemeralKey`. Its salt is the bytes of `nonce`, its info `gatehouse-key-proof/1`, and its length 32 bytes.",
  access: "person",
  harmless: "the answer to the challenge is used by a dangerous operation",
  body: closedObject({ publicKey: NewPublicKey }),
  success: { status: 200, kind: "report", body: KeyChallenge },
});

export const addMyDevice = operation({
  id: "addMyDevice",
  method: "POST",
  path: "/tenants/my/devices",
  tag,
  summary: "Add a device with any WireGuard app",
  description:
    "The key pair is made where the device's configuration is made; the server gets only the public key. The device does not run the agent: `agent` is false. Its session begins with the request. With the tenant's `deviceApproval` set to `administrator`, the device waits for an approval.",
  access: "person",
  dangerous: "the device outlives the session",
  refusedInSets: "it belongs to the person who is signed in",
  changesAccess: true,
  body: closedObject({
    name: Name,
    publicKey: NewPublicKey,
    ticket: Type.String({ minLength: 1, maxLength: 1000, description: "The ticket of the challenge." }),
    proof: Type.String({
      pattern: "^[A-Za-z0-9+/]{43}=$",
      description: "The answer to the challenge: 32 bytes in base64.",
    }),
  }),
  success: { status: 201, kind: "record", body: Device },
  errors: ["key_not_proved", "device_limit_reached", "device_key_taken", "session_ended"],
});

export const signInMyDevice = operation({
  id: "signInMyDevice",
  method: "POST",
  path: "/tenants/my/devices/{id}/sign-in",
  tag,
  summary: "Begin a new session of a device of the caller",
  description:
    "For devices that do not run the agent, and therefore cannot sign in by themselves. Gateways accept the device again until the session ends.",
  access: "person",
  dangerous: "the session of the device can outlive the session of the person",
  refusedInSets: "it belongs to the person who is signed in",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: Device },
  errors: ["device_runs_agent", "device_deactivated", "session_ended"],
});

export const readMyDeviceConfiguration = operation({
  id: "readMyDeviceConfiguration",
  method: "GET",
  path: "/tenants/my/devices/{id}/configuration",
  tag,
  summary: "Read the routing configuration of a device of the caller",
  description:
    "The gateways as WireGuard peers, with the traffic routed through each. A device that may reach nothing, or whose session has ended, has no gateways. If no gateway has seen the device yet, its source address is that of the request. Until `validUntil` (milliseconds since 1970), the report does not change through the passage of time alone.",
  access: "person",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "report", body: DeviceConfiguration },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded"],
});

export const renameMyDevice = operation({
  id: "renameMyDevice",
  method: "PATCH",
  path: "/tenants/my/devices/{id}",
  tag,
  summary: "Rename a device of the caller",
  description: "Rules can read the name, so that access tests are checked. A person cannot override them.",
  access: "person",
  refusedInSets: "it belongs to the person who is signed in",
  changesAccess: true,
  parameters: { id: "uuid" },
  body: closedObject({ name: Name }),
  success: { status: 200, kind: "record", body: Device },
});

export const removeMyDevice = operation({
  id: "removeMyDevice",
  method: "DELETE",
  path: "/tenants/my/devices/{id}",
  tag,
  summary: "Remove a device of the caller",
  description: "Cuts the device off and deletes its record. Removes the device from every policy that refers to it.",
  access: "person",
  refusedInSets: "it belongs to the person who is signed in",
  changesAccess: true,
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const listMyAccess = operation({
  id: "listMyAccess",
  method: "GET",
  path: "/tenants/my/access",
  tag,
  summary: "List own access",
  description:
    "The resources that the person can reach now from the source address of the request, and those that a policy for the person allows in other circumstances. Other resources are not listed. Results are ordered by name.",
  access: "person",
  success: {
    status: 200,
    kind: "page",
    item: MyResource,
    list: list({ sort: [], filter: {} }),
    query: {
      device: { description: "Id of the device of the caller that connects; none by default.", maxLength: 36 },
      search: { description: "Part of the name or of an address.", maxLength: 256 },
    },
  },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded", "not_found"],
});

export const explainMyAccess = operation({
  id: "explainMyAccess",
  method: "POST",
  path: "/tenants/my/access/explanation",
  tag,
  summary: "Explain own access to one resource",
  description: "A resource that no policy for the person allows gets the same answer as one that does not exist.",
  access: "person",
  body: closedObject({
    to: Type.String({
      minLength: 1,
      maxLength: 256,
      description: "Id or name of a resource, an IP address, or a host name.",
    }),
    device: Type.Optional(
      Type.String({ maxLength: 36, description: "Id of the device of the caller that connects; none by default." }),
    ),
  }),
  success: { status: 200, kind: "report", body: MyAccessAnswer },
  errors: ["evaluation_too_expensive", "evaluation_rate_exceeded", "not_found"],
});
