interface Place {
  readonly line: number
  readonly column: number
}
interface Mutant {
  readonly id: string
  readonly fileName: string
  readonly location: { readonly start: Place; readonly end: Place }
  readonly replacement: string
}

export declare function draw(
  mutants: readonly Mutant[],
  options: { readonly count: number; readonly seed: string },
): ReadonlySet<string>
