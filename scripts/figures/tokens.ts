// Tokens of a source text, comments left out: a measure of code that no line break changes.
import { Visitor, type Program, type TemplateLiteral } from 'oxc-parser'
import { SyntaxKind } from 'typescript/unstable/ast'
import { createScanner } from 'typescript/unstable/ast/scanner'
import type { Source } from './sources.ts'

/** Where the scanner has to be told what a parser knows: a regular expression, and the rest of a template. */
function places(program: Program, text: string) {
  const regexes = new Set<number>()
  const rests = new Set<number>()
  const inTemplate = ({ quasis }: Pick<TemplateLiteral, 'quasis'>) => {
    for (const { start } of quasis.slice(1)) rests.add(text[start] === '}' ? start : start - 1)
  }
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) regexes.add(node.start)
    },
    TemplateLiteral: inTemplate,
    TSTemplateLiteralType: inTemplate,
  }).visit(program)
  return { regexes, rests }
}

/** The number of tokens of a source that `readSource` (sources.ts) has read. */
export function countTokens({ text, program }: Pick<Source, 'text' | 'program'>): number {
  const { regexes, rests } = places(program, text)
  const scanner = createScanner(true)
  scanner.setText(text)
  let count = 0
  for (let token = scanner.scan(); token !== SyntaxKind.EndOfFile; token = scanner.scan()) {
    count += 1
    const start = scanner.getTokenStart()
    if (regexes.has(start)) scanner.reScanSlashToken()
    else if (rests.has(start)) scanner.reScanTemplateToken(false)
  }
  return count
}
