/** Formats dates, times and numbers everywhere in the console, and selects plural forms. */
export const locale = "en-GB";
