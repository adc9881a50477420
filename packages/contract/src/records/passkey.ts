import Type, { type Static } from "typebox";
import { component, Name, Timestamp, Uuid } from "../schema.ts";

export const Passkey = component("Passkey", "A passkey that a user signs in with.", {
  id: Uuid,
  createdAt: Timestamp,
  userId: Uuid,
  name: Name,
  synced: Type.Boolean({ description: "Whether the passkey is synchronised between the user's devices." }),
  lastUsedAt: Type.Optional(Timestamp),
});
export type Passkey = Static<typeof Passkey>;
