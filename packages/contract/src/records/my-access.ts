/** The own access of a signed-in person. */
import Type, { type Static } from "typebox";
import { closedObject, component, oneOf, Timestamp, Uuid } from "../schema.ts";

export const Myself = component("Myself", "The signed-in person.", {
  id: Uuid,
  email: Type.String(),
  firstName: Type.Optional(Type.String()),
  lastName: Type.Optional(Type.String()),
  organisation: Type.String({ description: "The name of the tenant." }),
  devices: Type.Integer({ minimum: 0, description: "Number of the person's devices, including deactivated ones." }),
  deviceLimit: Type.Integer({ minimum: 0, description: "Number of devices that the person may have." }),
  sourceAddress: Type.Optional(Type.String({ description: "The address from which the request came." })),
});
export type Myself = Static<typeof Myself>;

/** The states of a resource for a person. */
export const myAccessStates = [
  /** The person can connect. */
  "available",
  /** The person is allowed to connect, but no gateway can carry the traffic now. */
  "unavailable",
  /** A policy for the person exists, but something else is missing. */
  "blocked",
] as const;

export const MyResource = component("MyResource", "A resource of the signed-in person.", {
  id: Uuid,
  name: Type.String(),
  state: oneOf(myAccessStates, {
    description:
      "`unavailable`: the person may connect, but no gateway can carry the traffic now. `blocked`: the person could connect in other circumstances, or from another device.",
  }),
  addresses: Type.Array(Type.String(), { description: "Addresses of the resource; at most 20." }),
});
export type MyResource = Static<typeof MyResource>;

export const myAccessReasons = [
  /** Nobody gave the person access, or no such resource exists. */
  "not_granted",
  /** A policy denies the access. */
  "denied",
  /** No gateway can carry the traffic now. */
  "no_gateway",
  "device_required",
  /** The device would have to run the agent. */
  "agent_required",
  /** Only other devices of the person may connect. */
  "other_device",
  "device_pending",
  "device_deactivated",
  /** Nobody has signed in on the device again since its session ended. */
  "session_ended",
  /** A condition on the sign-in on the device is not met. A new sign-in can meet it. */
  "sign_in_again",
  /** The person is not an active user. */
  "person_inactive",
  /** Access is allowed from other networks only. */
  "network",
  /** The resource does not offer the port or protocol. */
  "port",
  /** A condition of the administrator is not met. */
  "condition",
] as const;

export const MyMissingFact = component("MyMissingFact", "Something that the signed-in person lacks for access.", {
  kind: oneOf(myAccessReasons),
  devices: Type.Optional(
    Type.Array(Type.String(), { description: "For `other_device`: names of the person's devices that may connect." }),
  ),
  networks: Type.Optional(
    Type.Array(Type.String(), { description: "For `network`: addresses and blocks from which access is allowed." }),
  ),
  about: Type.Optional(
    oneOf(["device", "time", "place", "person"], {
      description: "For `condition`: what it is about.",
    }),
  ),
  condition: Type.Optional(
    Type.String({
      description: "The text of the condition. Omitted if it could name other persons or their devices.",
    }),
  ),
  negated: Type.Optional(Type.Boolean({ description: "Whether the condition would have to be false." })),
});
export type MyMissingFact = Static<typeof MyMissingFact>;

export const MyAccessAnswer = component(
  "MyAccessAnswer",
  "Whether the signed-in person can reach something, and why.",
  {
    reachable: Type.Boolean(),
    resource: Type.Optional(
      closedObject(
        { id: Type.String(), name: Type.String() },
        {
          description:
            "Omitted if nothing gives the person access to it, so that names of resources stay confidential.",
        },
      ),
    ),
    missing: Type.Array(MyMissingFact, { description: "Empty if the resource can be reached." }),
    validUntil: Type.Optional(
      Type.Unsafe<string>({
        ...Timestamp,
        description: "Until this time, the answer does not change through the passage of time alone.",
      }),
    ),
    changesAt: Type.Optional(
      Type.Unsafe<string>({
        ...Timestamp,
        description:
          "The next time at which access begins or ends through the passage of time alone. Omitted if none was found. For rules on hours and days, the search covers eight days.",
      }),
    ),
  },
);
export type MyAccessAnswer = Static<typeof MyAccessAnswer>;
