/**
 * The chunks of the first load. Without them, the modules that pages share would be spread over dozens of small files,
 * which compress worse, and each of which costs a request with its headers.
 */

/** The chunks of the sign-in page and of the console's frame. Each excludes the chunks before it. */
const chunks = [
  { name: "entrance", entry: /\/index\.html$/ },
  { name: "frame", entry: /\/src\/console-entry\.tsx$/ },
];

const startModule = /\/(?:index\.html|src\/main\.tsx)$/;

/**
 * Returns groups that put the modules of each part into one chunk. Only a finished build tells which modules a part
 * uses: an import of a library's index loads just the components that are used.
 *
 * @param output of a build without groups
 */
export function firstLoadGroups(output) {
  const built = new Map(output.filter(({ type }) => type === "chunk").map((chunk) => [chunk.fileName, chunk]));
  const taken = new Set();
  return chunks.map(({ name, entry }) => {
    const start = [...built.values()].find(({ facadeModuleId }) => entry.test(facadeModuleId ?? ""));
    if (start === undefined) throw new Error(`The build has no chunk of ${entry}.`);
    const files = new Set([start.fileName]);
    for (const file of files) for (const imported of built.get(file)?.imports ?? []) files.add(imported);
    const modules = new Set([...files].flatMap((file) => Object.keys(built.get(file)?.modules ?? {})));
    // The page names one script, whose hash tells versions apart. It stays a separate chunk.
    for (const id of [...taken, ...[...modules].filter((each) => startModule.test(each))]) modules.delete(id);
    for (const id of modules) taken.add(id);
    return { name, test: (id) => modules.has(id) };
  });
}
