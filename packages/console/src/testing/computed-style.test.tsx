import { expect, test } from "vitest";

/** Display and visibility of an element in this body. happy-dom leaves out `inline` and `visible`. */
function styleOf(body: string): readonly string[] {
  document.body.innerHTML = body;
  const style = window.document.defaultView?.getComputedStyle(document.querySelector("#it") ?? document.body);
  return ["display", "visibility"].map((name) => style?.getPropertyValue(name) ?? "");
}

test.each([
  ["a block", "<p id='it'>", ["block", ""]],
  ["part of a line", "<b id='it'>", ["", ""]],
  ["an element that its style removes", "<p id='it' style='display: none'>", ["none", ""]],
  ["an element that its style hides", "<p id='it' style='visibility: hidden'>", ["block", "hidden"]],
  ["a part of a hidden element", "<div style='visibility: hidden'><p id='it'></div>", ["block", "hidden"]],
  [
    "an element that a responsive class removes",
    "<style>.mantine-hidden-from-sm { display: none }</style><p id='it' class='m mantine-hidden-from-sm'>",
    ["none", ""],
  ],
  [
    "an element with responsive style properties",
    "<style>.__m__-1 { visibility: hidden }</style><p id='it' class='__m__-1'>",
    ["block", "hidden"],
  ],
  ["a closed dialog", "<dialog id='it'>", ["none", ""]],
  ["an open dialog", "<dialog id='it' open>", ["block", ""]],
])("the computed style knows %s", (_name, body, expected) => {
  expect(styleOf(body)).toEqual(expected);
});

test("a style that changes is computed again", () => {
  expect(styleOf("<p id='it'>")).toEqual(["block", ""]);
  document.querySelector("#it")?.setAttribute("style", "display: none");
  const style = document.defaultView?.getComputedStyle(document.querySelector("#it") ?? document.body);
  expect(style?.getPropertyValue("display")).toBe("none");
});
