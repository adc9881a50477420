/** The TXT records that test servers find, by name. */
export const publishedTxt = new Map<string, readonly string[]>();
