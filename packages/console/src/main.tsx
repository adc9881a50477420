import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./app/console.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

/**
 * The nonce for styles that scripts create. The library that locks scrolling behind dialogs reads it from this
 * variable.
 */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
Object.assign(globalThis, { __webpack_nonce__: nonce });

const [{ Console }, { pageSets }] = await Promise.all([import("./app/console.tsx"), import("./pages/all.ts")]);
const container = document.getElementById("console");
if (container === null) throw new Error("the page has no element for the console");
createRoot(container).render(
  <StrictMode>
    <Console nonce={nonce} pageSets={pageSets} />
  </StrictMode>,
);
