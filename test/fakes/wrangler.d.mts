interface Call {
  readonly input: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export declare function runFake(
  args: readonly string[],
  call: Call,
): { readonly code: number; readonly output: string; readonly errors: string }
