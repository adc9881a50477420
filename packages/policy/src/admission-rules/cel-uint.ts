import { evaluate } from "@marcbachmann/cel-js";

/** A value of CEL's type uint, in the form of the library. */
export interface Uint {
  readonly value: bigint;
}

// The library does not export its class, so the class is taken from a value.
const UintClass: new (value: bigint) => Uint = evaluate("0u").constructor;

/** @throws an error of the library if the value does not fit in 64 bits */
export function uintOf(value: bigint): Uint {
  return new UintClass(value);
}

export function isUint(value: unknown): value is Uint {
  return value instanceof UintClass;
}
