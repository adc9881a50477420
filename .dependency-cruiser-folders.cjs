/**
 * The rule for folders. It has a run of its own, because tests must not count here: the test of a low layer may start a
 * whole server.
 */
const { options } = require("./.dependency-cruiser.cjs");

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-folder-cycles",
      comment: "Folders depend on each other in one direction only. Move the shared part to a third folder.",
      severity: "error",
      scope: "folder",
      from: { path: "^packages/" },
      to: { circular: true },
    },
  ],
  options: { ...options, exclude: { path: [options.exclude.path, "\\.test\\.tsx?$|/src/testing/|^test/"] } },
};
