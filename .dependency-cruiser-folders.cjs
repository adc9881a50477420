/**
 * The rule for cycles between folders. It runs separately without tests, because the tests of a low layer may start a
 * complete server.
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
