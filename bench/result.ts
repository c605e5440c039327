/** What one run gives: figures by name. Invariant: a figure stands only beside the differences of the same run. */
export type BenchResult = Readonly<Record<string, number>> & { readonly differences: number };
