import Type, { type Static } from "typebox";
import { permissions } from "../permissions.ts";
import { component, identity, Name, oneOf, Timestamp, Uuid } from "../schema.ts";
import { actorTypes } from "./event.ts";

const apiKeyFields = {
  ...identity,
  name: Name,
  prefix: Type.String({ description: "The first characters of the key, to identify it." }),
  permissions: Type.Array(oneOf(permissions)),
  sourceIps: Type.Array(Type.String(), {
    description: "Addresses and CIDRs that the key can be used from; empty for any address.",
  }),
  expiresAt: Type.Optional(Timestamp),
  lastUsedAt: Type.Optional(Timestamp),
  createdBy: Type.Optional(
    component("ApiKeyCreator", "Who created the key. Absent for keys from before this was stored.", {
      type: oneOf(actorTypes),
      id: Type.Optional(Uuid),
      name: Type.String({ description: "The name or the address at that time." }),
    }),
  ),
  replacedBy: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: "Id of the key that replaced this key by rotation." }),
  ),
};

export const ApiKey = component("ApiKey", "An API key without its secret.", apiKeyFields);
export type ApiKey = Static<typeof ApiKey>;

export const NewApiKey = component("NewApiKey", "An API key with its secret, which is shown only once.", {
  ...apiKeyFields,
  key: Type.String({ description: "The secret key. Gatehouse stores only its SHA-256 hash." }),
});
export type NewApiKey = Static<typeof NewApiKey>;
