export { compareLiveFacts } from "./history/compare-live.ts";
export type { AccessGuard, EffectToJudge } from "./impact/access-guard.ts";
export { accessRows, effectSummary } from "./impact/effect-summary.ts";
export { Ledger } from "./impact/ledger.ts";
export { ModelStore } from "./models/model-store.ts";
