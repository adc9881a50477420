import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";
import { NamedRecord } from "./decision.ts";

/** Whether a subject has access: in no circumstances, in some, or in all. */
export const accessLevels = ["never", "sometimes", "always"] as const;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const AccessCounts = component(
  "AccessCounts",
  "Numbers of subjects and resources whose access changes. Each is counted once.",
  {
    users: count("Number of users, with or without a device."),
    devices: count("Number of devices."),
    sites: count("Number of gateways at whose sites traffic enters."),
    resources: count("Number of resources."),
    internet: Type.Boolean({
      description: "Whether access to destinations outside all resources (the internet) changes.",
    }),
    pairs: count("Number of pairs of subject and resource."),
  },
);
export type AccessCounts = Static<typeof AccessCounts>;

export const EffectSubject = component("EffectSubject", "A subject whose access changes.", {
  kind: oneOf(["user", "device", "site"]),
  id: Type.String(),
  name: Type.String({ description: "The subject's name; for a user, the email address." }),
  user: Type.Optional(NamedRecord),
});

export const EffectGroup = component(
  "EffectGroup",
  "Subjects and resources with the same change of access: each of these subjects to each of these resources.",
  {
    change: oneOf(["gained", "lost"]),
    before: oneOf(accessLevels),
    after: oneOf(accessLevels),
    subjectCount: count("Number of subjects. A user counts once without a device and once with each device."),
    subjects: Type.Array(EffectSubject, { description: "The first 20 of them." }),
    resourceCount: count("Number of resources in the group."),
    resources: Type.Array(NamedRecord, { description: "The first 20 of them." }),
    internet: Type.Boolean({
      description: "Whether the change also applies to destinations outside all resources (the internet).",
    }),
  },
);
export type EffectGroup = Static<typeof EffectGroup>;

export const BrokenAccessTest = component("BrokenAccessTest", "An access test that no longer passes.", {
  id: Uuid,
  name: Type.String(),
  brokenCount: count("Number of subjects for which the test fails."),
});
export type BrokenAccessTest = Static<typeof BrokenAccessTest>;

const summary = {
  gained: AccessCounts,
  lost: AccessCounts,
  groupCount: count("Number of groups."),
  groups: Type.Array(EffectGroup, { description: "The first 100 of them." }),
  brokenTests: Type.Array(BrokenAccessTest, { description: "Access tests that fail because of the change." }),
};

export const EffectSummary = component("EffectSummary", "The access that a change grants and removes.", summary);
export type EffectSummary = Static<typeof EffectSummary>;

export const EventEffect = component(
  "EventEffect",
  "The access impact of the command that an audit entry belongs to.",
  {
    event: Uuid,
    generation: Type.Integer({ description: "The tenant's generation that the command created." }),
    createdAt: Timestamp,
    overrideReason: Type.Optional(
      Type.String({ description: "The reason that was given for overriding access tests." }),
    ),
    pending: Type.Optional(
      Type.Boolean({
        description:
          "Whether the impact is still being computed. An expensive impact is computed after the commit; until then, all of its counts are 0 and it has no groups. If the change gives nobody more access, tests can be added to `brokenTests` until then.",
      }),
    ),
    ...summary,
  },
);
export type EventEffect = Static<typeof EventEffect>;
