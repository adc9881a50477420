import Type, { type Static } from "typebox";
import { component, oneOf, Uuid } from "../schema.ts";
import { AccessTestBreach, maxBrokenShown } from "./access-test.ts";
import { NamedRecord, SharedAddress } from "./decision.ts";
import { AccessCounts, accessLevels, EffectGroup, EffectSubject } from "./effect.ts";

export const AccessRow = component("AccessRow", "A change of one subject's access to one resource.", {
  change: oneOf(["gained", "lost"]),
  before: oneOf(accessLevels),
  after: oneOf(accessLevels),
  subject: EffectSubject,
  resource: Type.Optional(
    Type.Unsafe<NamedRecord>({
      ...NamedRecord,
      description: "The resource; omitted for destinations outside all resources (the internet).",
    }),
  ),
});
export type AccessRow = Static<typeof AccessRow>;

export const PreviewedTest = component("PreviewedTest", "An access test that passes now and would fail.", {
  id: Uuid,
  name: Type.String(),
  enforced: Type.Boolean(),
  brokenCount: Type.Integer({ minimum: 0, description: "Number of subjects for which the test would fail." }),
  broken: Type.Array(AccessTestBreach, { description: `The first ${maxBrokenShown} of them.` }),
});
export type PreviewedTest = Static<typeof PreviewedTest>;

export const AccessPreview = component("AccessPreview", "The access that changes would grant and remove.", {
  generation: Type.Integer({ minimum: 0, description: "The tenant's generation that the preview is based on." }),
  gained: AccessCounts,
  lost: AccessCounts,
  groupCount: Type.Integer({ minimum: 0 }),
  groups: Type.Array(EffectGroup, { description: "The first 100 of them, gained access first." }),
  rows: Type.Array(AccessRow, {
    description:
      "A page of the individual changes: gained before lost, then by resource and subject. Both `pairs` together are the total.",
  }),
  brokenTests: Type.Array(PreviewedTest, { description: "All tests that would fail, whether enforced or not." }),
  sharedAddresses: Type.Optional(
    Type.Array(SharedAddress, {
      description:
        "New addresses that other resources have too, or that are within blocks or wildcards of other resources; omitted if there are none. At most 20.",
    }),
  ),
});
export type AccessPreview = Static<typeof AccessPreview>;
