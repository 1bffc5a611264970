export declare function refusedSubjects(
  text: string,
): readonly { readonly word: string; readonly at: number }[]
