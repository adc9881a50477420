import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";

/** The ways to sign in. */
export const signInMethods = ["passkey", "enrolment-link", "recovery-code", "oidc", "saml"] as const;

export const Session = component("Session", "A session of a person who signed in.", {
  id: Uuid,
  createdAt: Timestamp,
  user: component("SessionUser", "The person whose session it is.", { id: Uuid, email: Type.String() }),
  client: oneOf(["console", "cli"]),
  method: oneOf(signInMethods),
  current: Type.Boolean({ description: "Whether the request was made in this session." }),
  address: Type.String({ description: "The address from which the person signed in." }),
  userAgent: Type.String({ description: "The browser or program, according to itself." }),
  authenticatedAt: Type.Unsafe<string>({ ...Timestamp, description: "Time of the latest authentication." }),
  lastUsedAt: Timestamp,
  expiresAt: Type.Unsafe<string>({
    ...Timestamp,
    description: "The latest end of the session. It ends earlier if it is idle for `idleSeconds`.",
  }),
  idleSeconds: Type.Integer(),
});
export type Session = Static<typeof Session>;

export const SignIn = component("SignIn", "An attempt to sign in.", {
  id: Uuid,
  createdAt: Timestamp,
  user: Type.Optional(
    component("SignInUser", "The user whom the attempt identified.", { id: Uuid, email: Type.String() }),
  ),
  method: oneOf(signInMethods),
  provider: Type.Optional(component("SignInProvider", "The identity provider.", { id: Uuid, name: Type.String() })),
  address: Type.String({ description: "The address from which the request came." }),
  userAgent: Type.String({ description: "The browser or program, according to itself." }),
  outcome: oneOf(["succeeded", "failed"]),
  reason: Type.Optional(Type.String({ description: "Why the attempt failed." })),
  note: Type.Optional(Type.String({ description: "What administrators should know about an attempt that succeeded." })),
});
export type SignIn = Static<typeof SignIn>;
