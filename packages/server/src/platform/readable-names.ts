/** The characters that new names cannot contain, because different names could look the same. */

/**
 * Characters that change the direction of the text around them (Unicode Standard Annex 9). In a name, they make another
 * name visible than the one that is compared.
 */
const directionControls = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Line and paragraph separators, which divide a line of a log or a list in two, and noncharacters. */
const separators = /[\p{Zl}\p{Zp}\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/** Characters that look blank although Unicode does not call them ignorable: Braille, music and hieroglyphs. */
const blanks = String.raw`\u2800\u{1d159}\u{13441}\u{13442}`;

/** Text in which a reader sees nothing. */
const invisibleText = new RegExp(
  String.raw`^[\s\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}${blanks}]*$`,
  "u",
);

/** Characters without a glyph: zero-width spaces, fillers, joiners, selectors, tags, and controls of annotations. */
const hiddenCharacter = new RegExp(String.raw`[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb${blanks}]`, "u");

/** The scripts in which a joiner can change the shape of the letters beside it (Unicode Standard Annex 31). */
const joiningScripts = [
  "Adlam Arabic Balinese Bengali Cham Devanagari Gujarati Gurmukhi Hanifi_Rohingya Javanese Kannada Khmer Lepcha",
  "Malayalam Mandaic Mongolian Myanmar Newa Nko Oriya Phags_Pa Sinhala Sundanese Syriac Tamil Telugu Tibetan",
]
  .flatMap((names) => names.split(" "))
  .map((name) => String.raw`\p{Script=${name}}`)
  .join("");

/** Vowel signs and accents that such scripts share with others. */
const sharedMarks = String.raw`\u0300-\u034e\u0350-\u036f\u064b-\u0655\u0670\u0951-\u0954`;

/** Signs that remove the vowel of a letter. A joiner after one shows another form of the letter, even at the end. */
const viramas = String.raw`\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca`;

/** Hidden characters where they can change the visible text. The lookarounds contain what they change. */
const visibleUses = new RegExp(
  [
    String.raw`(?<=[${joiningScripts}][${sharedMarks}]*)[\u200c\u200d](?=[${joiningScripts}])`,
    String.raw`(?<=[${viramas}][${sharedMarks}]*)\u200d`,
    // The initial form of an Arabic heh, in abbreviations.
    String.raw`(?<=[\u0647\u06be])\u200d`,
    // Sequences of emoji (Unicode Technical Standard 51): persons with an occupation, styles, keycaps and flags.
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
    String.raw`(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]`,
    String.raw`(?<=[0-9#*])\ufe0f(?=\u20e3)`,
    String.raw`(?<=\u{1f3f4})[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}`,
    // Variants of ideographs, as in names of people, and of letters.
    String.raw`(?<=\p{Script=Han})[\ufe00-\ufe02\u{e0100}-\u{e01ef}]`,
    String.raw`(?<=[\p{Script=Myanmar}\p{Script=Phags_Pa}])\ufe00`,
    String.raw`(?<=\p{Script=Mongolian})(?<![\u180b-\u180f])[\u180b-\u180d\u180f]`,
  ].join("|"),
  "gu",
);

/** The reason for which a new record cannot have a name. Undefined if it can. */
export function problemOfNewName(name: string): string | undefined {
  if (directionControls.test(name)) return "must not contain characters that change the direction of text";
  if (invisibleText.test(name)) return "must contain a visible character";
  if (separators.test(name)) return "must not contain line separators or control characters";
  if (!hiddenCharacter.test(name)) return undefined;
  const hidden = hiddenCharacter.exec(name.replace(visibleUses, ""))?.[0].codePointAt(0);
  if (hidden === undefined) return undefined;
  return `must not contain the invisible character U+${hidden.toString(16).toUpperCase().padStart(4, "0")} there`;
}
