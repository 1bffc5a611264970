import type { Comment, Expression, VisitorObject } from 'oxc-parser'

export type TextVisitor = (kind: 'error' | 'title', node: Expression, words: string) => void

export declare function proseOfComments(
  comments: readonly Comment[],
  text: string,
): readonly { readonly words: string; readonly start: number }[]
export declare function visitTexts(
  onText: TextVisitor,
  options: { readonly isTest: boolean },
): VisitorObject
export declare function proseOfPage(text: string): string
