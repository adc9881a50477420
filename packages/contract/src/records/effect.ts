import Type, { type Static } from "typebox";
import { component, oneOf, Timestamp, Uuid } from "../schema.ts";
import { NamedRecord } from "./decision.ts";

/** Whether somebody may reach something: whatever the circumstances, under some of them, or not at all. */
export const accessLevels = ["never", "sometimes", "always"] as const;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const AccessCounts = component("AccessCounts", "How many gain, or lose, access to how much; each counts once.", {
  users: count("Users, whether without a device or with any of theirs."),
  devices: count("Devices, with their users."),
  sites: count("Gateways, as the sites that traffic enters at."),
  resources: count("Resources."),
  internet: Type.Boolean({ description: "Whether access to what is no resource is among it." }),
  pairs: count("Who and what: each with each."),
});
export type AccessCounts = Static<typeof AccessCounts>;

export const EffectSubject = component("EffectSubject", "Somebody whose access changes.", {
  kind: oneOf(["user", "device", "site"]),
  id: Type.String(),
  name: Type.String({ description: "Of a user, the e-mail address." }),
  user: Type.Optional(NamedRecord),
});

export const EffectGroup = component(
  "EffectGroup",
  "Subjects and resources whose access changes alike: of each of these subjects to each of these resources.",
  {
    change: oneOf(["gained", "lost"]),
    before: oneOf(accessLevels),
    after: oneOf(accessLevels),
    subjectCount: count("How many subjects: a user counts once without a device, and once with each."),
    subjects: Type.Array(EffectSubject, { description: "The first 20 of them." }),
    resourceCount: count("How many resources."),
    resources: Type.Array(NamedRecord, { description: "The first 20 of them." }),
    internet: Type.Boolean({ description: "Whether it is so, too, of what is no resource." }),
  },
);
export type EffectGroup = Static<typeof EffectGroup>;

export const BrokenAccessTest = component("BrokenAccessTest", "An access test that holds no more.", {
  id: Uuid,
  name: Type.String(),
  brokenCount: count("For how many subjects it does not hold."),
});
export type BrokenAccessTest = Static<typeof BrokenAccessTest>;

const summary = {
  gained: AccessCounts,
  lost: AccessCounts,
  groupCount: count("How many groups there are."),
  groups: Type.Array(EffectGroup, { description: "The first 100 of them." }),
  brokenTests: Type.Array(BrokenAccessTest, { description: "Access tests that the change broke." }),
};

export const EffectSummary = component("EffectSummary", "Who gains and who loses access to what.", summary);
export type EffectSummary = Static<typeof EffectSummary>;

export const EventEffect = component("EventEffect", "What the command of an audit entry did to access.", {
  event: Uuid,
  generation: Type.Integer({ description: "The tenant's generation that the command made." }),
  createdAt: Timestamp,
  overrideReason: Type.Optional(Type.String({ description: "Why access tests were to be overridden." })),
  ...summary,
});
export type EventEffect = Static<typeof EventEffect>;
