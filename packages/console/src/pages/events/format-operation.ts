/** Formats an identifier as words: `updateUserProfile` as "Update user profile", `createApiKey` as "Create API key". */
export function formatOperation(operation: string): string {
  const words = operation
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .replaceAll(/\b(api|url|ips?)\b/g, asWritten);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function asWritten(word: string): string {
  return word === "ips" ? "IPs" : word.toUpperCase();
}
