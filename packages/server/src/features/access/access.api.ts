export { ModelStore } from "./model-store.ts";
