#!/usr/bin/env -S node --max-semi-space-size=4 --heap-growing-percent=125
// Plain JavaScript, so that npm can link the command before anything is built.
try {
  await import("../dist/main.js");
} catch (error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  console.error(`Gatehouse is not built completely. Run "npm run build" first.\n${error.message}`);
  process.exitCode = 1;
}
