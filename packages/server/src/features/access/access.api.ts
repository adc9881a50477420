export { noGuard } from "./access-guard.ts";
export { Ledger } from "./ledger.ts";
export { ModelStore } from "./model-store.ts";
