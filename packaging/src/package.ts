/** `npm run package`: builds all artefacts of a release into `dist/packages`. */
import { fileURLToPath } from "node:url";
import { buildRelease } from "./build-release.ts";
import { packageHelp, readPackageOptions } from "./package-options.ts";

const workspace = fileURLToPath(new URL("../../", import.meta.url));

// Folders of images get the usual modes, whatever the caller's mask is.
process.umask(0o022);
const options = await readPackageOptions(process.argv.slice(2), workspace);
if (options === "help") process.stdout.write(packageHelp);
else await buildRelease(workspace, options);
