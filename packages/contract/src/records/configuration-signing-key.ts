import Type, { type Static } from "typebox";
import { component, oneOf } from "../schema.ts";

export const ConfigurationSigningKey = component(
  "ConfigurationSigningKey",
  "The public key that verifies the configurations of the tenant's gateways and devices.",
  {
    algorithm: oneOf(["Ed25519"]),
    publicKey: Type.String({ description: "The public key: 32 bytes in base64." }),
  },
);
export type ConfigurationSigningKey = Static<typeof ConfigurationSigningKey>;
