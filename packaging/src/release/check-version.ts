/** @throws Error if the version does not follow the previous one */
export function checkVersion(previous: string, next: string): void {
  const [before, after] = [parts(previous), parts(next)];
  const changed = after.findIndex((part, index) => part !== before[index]);
  if (changed < 0 || (after[changed] ?? 0) < (before[changed] ?? 0)) {
    throw new Error(`The version ${next} is not higher than ${previous}.`);
  }
}

function parts(version: string): readonly number[] {
  if (!/^(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5})){2}$/.test(version)) {
    throw new Error(`${version} is not a version such as 1.2.3.`);
  }
  return version.split(".").map(Number);
}
