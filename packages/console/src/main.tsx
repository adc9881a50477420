import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@mantine/spotlight/styles.css";
import "./app/console.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

/** The styles that scripts make need the page's nonce; what locks scrolling behind a dialog looks for it under this name. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
Object.assign(globalThis, { __webpack_nonce__: nonce });

const { Console } = await import("./app/console.tsx");
const place = document.getElementById("console");
if (place === null) throw new Error("the page has no place for the console");
createRoot(place).render(
  <StrictMode>
    <Console nonce={nonce} />
  </StrictMode>,
);
