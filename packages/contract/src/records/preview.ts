import Type, { type Static } from "typebox";
import { component, oneOf, Uuid } from "../schema.ts";
import { AccessTestBreach, maxBrokenShown } from "./access-test.ts";
import { NamedRecord } from "./decision.ts";
import { AccessCounts, accessLevels, EffectGroup, EffectSubject } from "./effect.ts";

export const AccessRow = component("AccessRow", "One whose access to one thing would change.", {
  change: oneOf(["gained", "lost"]),
  before: oneOf(accessLevels),
  after: oneOf(accessLevels),
  subject: EffectSubject,
  resource: Type.Optional(
    Type.Unsafe<NamedRecord>({ ...NamedRecord, description: "Absent for what is no resource: the internet." }),
  ),
});
export type AccessRow = Static<typeof AccessRow>;

export const PreviewedTest = component("PreviewedTest", "An access test that holds now, and would not hold any more.", {
  id: Uuid,
  name: Type.String(),
  enforced: Type.Boolean(),
  brokenCount: Type.Integer({ minimum: 0, description: "For how many subjects it would not hold." }),
  broken: Type.Array(AccessTestBreach, { description: `The first ${maxBrokenShown} of them.` }),
});
export type PreviewedTest = Static<typeof PreviewedTest>;

export const AccessPreview = component("AccessPreview", "Who would gain and who would lose access to what.", {
  generation: Type.Integer({ minimum: 0, description: "The tenant's generation that the changes were tried on." }),
  gained: AccessCounts,
  lost: AccessCounts,
  groupCount: Type.Integer({ minimum: 0 }),
  groups: Type.Array(EffectGroup, { description: "The first 100 of them; those of what is gained come first." }),
  rows: Type.Array(AccessRow, {
    description:
      "What is asked for of the single changes, as many as `pairs` of both say: gained before lost, by resource, then by subject.",
  }),
  brokenTests: Type.Array(PreviewedTest, { description: "All tests that would be broken, enforced or not." }),
});
export type AccessPreview = Static<typeof AccessPreview>;
