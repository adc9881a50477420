import Type from "typebox";
import { operation } from "../operation.ts";
import { DeviceTags } from "../records/device.ts";
import { defaultKeyDays, EnrolmentKey, maxKeyDays, maxUsesOfKey, NewEnrolmentKey } from "../records/enrolment-key.ts";
import { closedObject, Name, Timestamp, Uuid } from "../schema.ts";

const tag = "Devices";

const KeyExpiry = Type.Unsafe<string>({
  ...Timestamp,
  description: `Time after which the key enrols no device, at most ${maxKeyDays} days ahead.`,
});

export const listEnrolmentKeys = operation({
  id: "listEnrolmentKeys",
  method: "GET",
  path: "/tenants/enrolment-keys",
  tag,
  summary: "List enrolment keys",
  description: "Returns expired, revoked and used-up keys too, until they are deleted.",
  access: "devices:read",
  success: { status: 200, kind: "array", item: EnrolmentKey },
});

export const createEnrolmentKey = operation({
  id: "createEnrolmentKey",
  method: "POST",
  path: "/tenants/enrolment-keys",
  tag,
  summary: "Create an enrolment key",
  description: `\`gatehouse-device enrol --key-file\` enrols a server with the key, without a person. The device belongs to the key's user, has the key's tags, and needs no approval. The device limit of the user applies. Without \`expiresAt\`, the key expires after ${defaultKeyDays} days, or with the calling API key.`,
  access: "devices:write",
  dangerous: "the key outlives the session",
  body: closedObject({
    name: Name,
    userId: Uuid,
    maxUses: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxUsesOfKey,
        default: 1,
        description: "The number of devices that the key can enrol.",
      }),
    ),
    expiresAt: Type.Optional(KeyExpiry),
    tags: Type.Optional(DeviceTags),
  }),
  refusedInSets: "its response shows a secret once",
  success: { status: 201, kind: "record", body: NewEnrolmentKey },
  errors: ["invalid_combination", "grants_exceed_caller", "unknown_reference", "user_deactivated"],
});

export const readEnrolmentKey = operation({
  id: "readEnrolmentKey",
  method: "GET",
  path: "/tenants/enrolment-keys/{id}",
  tag,
  summary: "Read an enrolment key",
  access: "devices:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: EnrolmentKey },
});

export const updateEnrolmentKey = operation({
  id: "updateEnrolmentKey",
  method: "PUT",
  path: "/tenants/enrolment-keys/{id}",
  tag,
  summary: "Update an enrolment key",
  description: "Changes the fields that the body contains. Devices that the key has enrolled do not change.",
  access: "devices:write",
  dangerous: "it can extend a credential",
  parameters: { id: "uuid" },
  body: closedObject({ name: Type.Optional(Name), expiresAt: Type.Optional(KeyExpiry) }),
  refusedInSets: "it extends a credential",
  success: { status: 200, kind: "record", body: EnrolmentKey },
  errors: ["invalid_combination", "grants_exceed_caller"],
});

export const revokeEnrolmentKey = operation({
  id: "revokeEnrolmentKey",
  method: "POST",
  path: "/tenants/enrolment-keys/{id}/revoke",
  tag,
  summary: "Revoke an enrolment key",
  description:
    "The key enrols no further device. Devices that it has enrolled stay enrolled: find them with `filter[enrolmentKey]` of `GET /tenants/devices`. Idempotent.",
  access: "devices:write",
  parameters: { id: "uuid" },
  refusedInSets: "it revokes a credential",
  success: { status: 200, kind: "record", body: EnrolmentKey },
});

export const deleteEnrolmentKey = operation({
  id: "deleteEnrolmentKey",
  method: "DELETE",
  path: "/tenants/enrolment-keys/{id}",
  tag,
  summary: "Delete an enrolment key",
  description: "Revokes the key and removes its record. Devices that it has enrolled stay enrolled.",
  access: "devices:write",
  parameters: { id: "uuid" },
  refusedInSets: "it revokes a credential",
  success: { status: 204, kind: "empty" },
});
