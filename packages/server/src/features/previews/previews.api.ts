/** Public API of this feature: previews of access. */
export { readAccessPreview } from "./access-preview.ts";
