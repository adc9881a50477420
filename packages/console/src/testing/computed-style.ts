/**
 * Computed styles without a search through style sheets, for the two properties that decide an accessible name.
 *
 * happy-dom computes all properties of an element and of its ancestors to answer for one. Queries by name ask for every
 * element that may belong to the name, which took a sixth of the time of component tests. The components' style sheets
 * are not loaded, so that only a few elements need a complete answer.
 */

type Property = "display" | "visibility";

const isProperty = (name: string): name is Property => name === "display" || name === "visibility";

/** Classes that Mantine's own style elements refer to: breakpoints, and style properties that depend on them. */
const responsiveClass = /(?:^|\s)(?:mantine-(?:visible|hidden)-from-|__m__)/;

/** The values of elements without a style of their own, by property and tag. */
const ofTags = new Map<string, string>();

/** Replaces `getComputedStyle` of a window. All other properties stay as happy-dom computes them. */
export function speedUpComputedStyles(window: Window): void {
  const compute = window.getComputedStyle.bind(window);
  const styles = new WeakMap<Element, CSSStyleDeclaration>();
  window.getComputedStyle = (element, pseudoElement) => {
    const known = styles.get(element);
    if (known !== undefined && !pseudoElement) return known;
    const style = compute(element, pseudoElement);
    if (pseudoElement) return style;
    const quick = withQuickValues(element, style);
    styles.set(element, quick);
    return quick;
  };
}

function withQuickValues(element: Element, style: CSSStyleDeclaration): CSSStyleDeclaration {
  const getPropertyValue = (name: string) =>
    isProperty(name) && isDecidedByTag(element, name) ? valueOfTag(element, name, style) : style.getPropertyValue(name);
  return new Proxy(style, {
    get: (target, key) => (key === "getPropertyValue" ? getPropertyValue : Reflect.get(target, key)),
  });
}

function valueOfTag(element: Element, name: Property, style: CSSStyleDeclaration): string {
  const key = `${name} ${element.tagName}`;
  const value = ofTags.get(key) ?? style.getPropertyValue(name);
  ofTags.set(key, value);
  return value;
}

/** Whether neither a style attribute nor a class may set the property. Descendants inherit visibility. */
function isDecidedByTag(element: Element, name: Property): boolean {
  // An open dialog is displayed differently. An element outside the document has no style.
  if (element.tagName === "DIALOG" || !element.isConnected) return false;
  for (let at: Element | null = element; at !== null; at = name === "visibility" ? at.parentElement : null) {
    if (at.getAttribute("style")?.includes(name) || responsiveClass.test(at.getAttribute("class") ?? "")) return false;
  }
  return true;
}
