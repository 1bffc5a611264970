type WordKind = 'comment' | 'error' | 'title' | 'doc' | 'type'

export declare function judgeWords(
  found: readonly { readonly kind: WordKind }[],
  limits?: Readonly<Partial<Record<WordKind, number>>>,
): { readonly ok: boolean; readonly output: string }
