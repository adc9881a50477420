/** @param minutes since midnight, up to 1440 for 24:00 */
export function formatTimeOfDay(minutes: number): string {
  const parts = [Math.floor(minutes / 60), minutes % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
