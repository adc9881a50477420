/** `updateUserProfile` as people write it: "Update user profile". */
export function sayOperation(operation: string): string {
  const words = operation.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
