import Type, { type Static } from "typebox";
import { permissions } from "../permissions.ts";
import { component, identity, Name, oneOf, Timestamp, Uuid } from "../schema.ts";

const apiKeyFields = {
  ...identity,
  name: Name,
  prefix: Type.String({ description: "The first characters of the key, to recognise it by." }),
  permissions: Type.Array(oneOf(permissions)),
  sourceIps: Type.Array(Type.String(), {
    description: "Addresses and CIDRs that the key may be used from; empty for any.",
  }),
  expiresAt: Type.Optional(Timestamp),
  lastUsedAt: Type.Optional(Timestamp),
  replacedBy: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: "The key that took this one's place by rotation." }),
  ),
};

export const ApiKey = component("ApiKey", "A key for this API, without its secret.", apiKeyFields);
export type ApiKey = Static<typeof ApiKey>;

export const NewApiKey = component("NewApiKey", "A key with its secret, which is shown this once.", {
  ...apiKeyFields,
  key: Type.String({ description: "The secret. Only its SHA-256 is stored." }),
});
export type NewApiKey = Static<typeof NewApiKey>;
