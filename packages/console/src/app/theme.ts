import { Alert, type CSSVariablesResolver, createTheme, Modal, Notification } from "@mantine/core";
import { t } from "../messages/i18n.ts";

/** Shades with a contrast of at least 4.5:1 between text and background (WCAG 2.2, 1.4.3), in both themes. */
export const theme = createTheme({
  primaryColor: "blue",
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  defaultRadius: "md",
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", sans-serif',
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "1.5rem" }, h2: { fontSize: "1.125rem" } } },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Modal: Modal.extend({ styles: { title: { fontWeight: 600 } } }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { "aria-label": t("common.close") } } }),
    // Alerts that a screen reader must announce at once set their own role.
    Alert: Alert.extend({
      defaultProps: { role: "note" },
      styles: { label: { color: "var(--mantine-color-text)" } },
    }),
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#4b5560",
    "--mantine-color-placeholder": "#646d76",
    "--mantine-color-anchor": "#1864ab",
    "--mantine-color-error": "#c92a2a",
    "--mantine-color-body": "#fdfdfe",
  },
  dark: {
    "--mantine-color-dimmed": "#b4bac2",
    "--mantine-color-placeholder": "#a0a6ae",
    "--mantine-color-anchor": "#74c0fc",
    "--mantine-color-error": "#ff8787",
  },
});
