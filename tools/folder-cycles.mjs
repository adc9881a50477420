/** Finds folders that depend on each other, in the modules that dependency-cruiser lists. */
import { posix } from "node:path";

/** The tests of a low layer may start a complete server, so they do not count. */
const tests = /\.test\.tsx?$|\/src\/testing\/|^test\//;

/**
 * A folder depends on a folder outside of it if any module inside the first one imports a module that is directly
 * inside the second one.
 *
 * @param {readonly import("./folder-cycles.mjs").CruisedModule[]} modules
 * @returns the dependencies between folders that are part of a cycle
 */
export function folderCycles(modules) {
  const dependencies = folderDependencies(modules.filter(({ source }) => !tests.test(source)));
  return [...dependencies].flatMap(([folder, targets]) =>
    folder.startsWith("packages/")
      ? [...targets].filter((target) => reaches(dependencies, target, folder)).map((to) => ({ from: folder, to }))
      : [],
  );
}

/** @param {readonly import("./folder-cycles.mjs").CruisedModule[]} modules */
function folderDependencies(modules) {
  /** @type {Map<string, Set<string>>} */
  const found = new Map();
  for (const { source, dependencies } of modules) {
    const imported = dependencies.map(({ resolved }) => resolved).filter((target) => !tests.test(target));
    for (let folder = posix.dirname(source); folder !== "."; folder = posix.dirname(folder)) {
      const targets = found.get(folder) ?? new Set();
      found.set(folder, targets);
      for (const target of imported) if (!target.startsWith(`${folder}/`)) targets.add(posix.dirname(target));
    }
  }
  return found;
}

/**
 * @param {ReadonlyMap<string, ReadonlySet<string>>} dependencies
 * @param {string} from
 * @param {string} to
 */
function reaches(dependencies, from, to) {
  const seen = new Set([from]);
  // A set also visits what is added meanwhile.
  for (const folder of seen) for (const next of dependencies.get(folder) ?? []) seen.add(next);
  return seen.has(to);
}
