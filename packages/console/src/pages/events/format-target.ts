/** What events call `access-test`, as people do. */
export function formatTarget(type: string): string {
  if (type === "api-key") return "API key";
  return `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll("-", " ")}`;
}
