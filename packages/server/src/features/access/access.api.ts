export type { AccessGuard, EffectToJudge } from "./access-guard.ts";
export { accessRows, effectSummary } from "./effect-summary.ts";
export { Ledger } from "./ledger.ts";
export { ModelStore } from "./model-store.ts";
