export interface Finding {
  /** 1 for the first line. */
  readonly line: number;
  readonly problem: "opening" | "length";
}

export declare const longestLine: number;
export declare const checkedFiles: readonly string[];
export declare function findings(source: string): readonly Finding[];
