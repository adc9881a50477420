/** The version of this release, equal to the version of every package. `npm run release` sets it. */
export const version = "0.1.0";
