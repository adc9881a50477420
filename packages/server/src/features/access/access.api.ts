export { sharedAddressView } from "./decide/explanation.view.ts";
export type { AccessGuard, EffectToJudge } from "./impact/access-guard.ts";
export { accessRows, effectSummary } from "./impact/effect-summary.ts";
export { LateEffects } from "./impact/late-effects.ts";
export { Ledger } from "./impact/ledger.ts";
export { compareLiveFacts } from "./models/compare-live.ts";
export { ModelStore } from "./models/model-store.ts";
export { ModelSnapshots } from "./models/snapshots/model-snapshots.ts";
