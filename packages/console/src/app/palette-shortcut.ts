/** The keys that open the command palette from every control, text fields included. */

export const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** On Apple devices, Ctrl K deletes the rest of a line in text fields. */
export const paletteShortcut = isApple ? "meta+K" : "ctrl+K";
